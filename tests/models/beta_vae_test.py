import math

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.export import export_saved_model
from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.metrics import recall_at_k
from embeddings_tf.models import BetaVAE
from embeddings_tf.models import FewShotClassifier
from embeddings_tf.models import has_gaussian_output
from embeddings_tf.models import sprites_decoder
from embeddings_tf.models import sprites_encoder

SHAPE = (4, 6, 1)
LIKELIHOODS = ["bernoulli", "compressed_bernoulli"]


def images(rows=12, seed=0):
    """Two classes, each bright in one half of the image, and noise."""
    x = np.random.default_rng(seed).uniform(0, 60, size=(rows, *SHAPE))
    x[::2, :2] += 180
    x[1::2, 2:] += 180
    return x.astype("float32")


def encoder(head=None, shape=SHAPE):
    return keras.Sequential(
        [
            keras.Input(shape, name="image"),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Flatten(),
            keras.layers.Dense(16, activation="tanh"),
            head or GaussianEmbedding(2),
        ]
    )


def decoder(dim=2, shape=SHAPE):
    return keras.Sequential(
        [
            keras.Input((dim,), name="code"),
            keras.layers.Dense(math.prod(shape)),
            keras.layers.Reshape(shape),
        ]
    )


def new_model(beta=1.0, **arguments):
    keras.utils.set_random_seed(0)
    model = BetaVAE(encoder(), decoder(), beta, **arguments)
    model.compile(optimizer=keras.optimizers.Adam(1e-2))
    return model


class Counter(keras.layers.Layer):
    """Counts the batches that TensorFlow computes."""

    batches = 0

    def call(self, inputs):
        def count(x):
            self.batches += 1
            return x

        counted = tf.numpy_function(count, [inputs], "float32", stateful=False)
        # Only the value, because a numpy_function has no gradient.
        return inputs + tf.stop_gradient(
            tf.ensure_shape(counted, inputs.shape) - inputs
        )

    def compute_output_shape(self, input_shape):
        return input_shape


def expected_logs(model, x, beta, likelihood="bernoulli"):
    """The loss without noise, in float64, pixel by pixel."""
    packed = np.asarray(model.encoder(x), "float64")
    mean, variance = packed[:, :2], packed[:, 2:]
    logits = np.asarray(model.decoder(mean), "float64")
    bright, target = 1 / (1 + np.exp(-logits)), x.astype("float64") / 255
    if likelihood == "compressed_bernoulli":
        bright, target = (bright + 1) / 2, (target + 1) / 2
    reconstruction = np.zeros(len(x))
    for at in np.ndindex(x.shape):
        p, t = bright[at], target[at]
        reconstruction[at[0]] += t * np.log(p) + (1 - t) * np.log(1 - p)
    kl = (mean**2 + variance - 1 - np.log(variance)).sum(axis=1) / 2
    return {
        "kl": kl.mean(),
        "loss": (beta * kl - reconstruction).mean(),
        "reconstruction": reconstruction.mean(),
    }


def assert_logs(actual, expected):
    assert set(actual) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(actual[name], value, rtol=1e-4)


class TestLoss:
    @pytest.mark.parametrize("beta", [0, 1.0, 4])
    @pytest.mark.parametrize("likelihood", LIKELIHOODS)
    def test_evaluate_in_numpy(self, beta, likelihood):
        model, x = new_model(beta, likelihood=likelihood), images()
        expected = expected_logs(model, x, beta, likelihood)
        assert expected["kl"] > 0.05
        for _ in range(2):  # equal both times, without noise
            logs = model.evaluate(x, batch_size=5, verbose=0, return_dict=True)
            assert_logs(logs, expected)

    def test_training_adds_noise_of_the_variance(self, monkeypatch):
        model, x = new_model(), images(4000)
        codes = []
        log_likelihood = model.log_likelihood

        def spy(images, code, training):
            codes.append(code)
            return log_likelihood(images, code, training)

        monkeypatch.setattr(model, "log_likelihood", spy)
        model.compute_loss(x=x)
        packed = np.asarray(model.encoder(x))
        noise = (codes[0] - packed[:, :2]) / np.sqrt(packed[:, 2:])
        # Five standard deviations of a mean, and of a mean square.
        np.testing.assert_allclose(
            noise.numpy().mean(0), 0, atol=5 / np.sqrt(4000)
        )
        np.testing.assert_allclose(
            np.square(noise).mean(0), 1, atol=5 * np.sqrt(2 / 4000)
        )
        model.compute_loss(x=x)
        assert np.any(codes[0] != codes[1]), "the same noise twice"

    def test_labels_are_unused(self):
        model, x = new_model(), images()
        bare = model.test_on_batch(x, return_dict=True)
        model.reset_metrics()
        labels = np.arange(12)
        assert model.test_on_batch(x, labels, return_dict=True) == bare

    def test_sample_weight(self):
        """Rows of weight 0 do not contribute, but count in the mean."""
        model, x = new_model(), images()
        weight = np.array([1] * 5 + [0] * 7, "float32")
        expected = expected_logs(model, x[:5], 1)
        expected["loss"] *= 5 / 12
        logs = model.test_on_batch(
            x, np.zeros(12), sample_weight=weight, return_dict=True
        )
        assert_logs(logs, expected)

    @pytest.mark.parametrize("likelihood", LIKELIHOODS)
    @pytest.mark.parametrize("pixel", [0, 255])
    @pytest.mark.parametrize("logit", [-1e6, -100, 0, 100, 1e6])
    def test_extremes(self, likelihood, pixel, logit):
        model = new_model(likelihood=likelihood)
        model.decoder.layers[0].bias.assign(np.full(24, logit))
        x = np.full((3, *SHAPE), pixel, "float32")
        with tf.GradientTape() as tape:
            loss = model.compute_loss(x=x)
        gradients = tape.gradient(
            loss, [weight.value for weight in model.trainable_variables]
        )
        for value in (loss, *gradients):
            assert np.isfinite(value).all()

    def test_regularisers_are_added(self):
        model, x = new_model(), images()
        kernel = model.decoder.layers[0].kernel
        kernel.regularizer = keras.regularizers.L2(0.5)
        loss = model.test_on_batch(x)[0]
        penalty = 0.5 * np.square(kernel).sum()
        assert penalty > 0.1
        np.testing.assert_allclose(
            loss, expected_logs(model, x, 1)["loss"] + penalty, rtol=1e-5
        )


class TestTraining:
    def test_fit_reconstructs(self):
        """With two kinds of images, coding the kind is worth its divergence."""
        model, x = new_model(), images()
        history = model.fit(
            np.tile(x, (75, 1, 1, 1)),
            np.zeros(12 * 75),
            batch_size=12,
            validation_data=(x, np.zeros(12)),
            epochs=2,
            shuffle=False,
            verbose=0,
        ).history
        held_out = history["val_reconstruction"]
        assert held_out[-1] > held_out[0]
        # The best value of a decoder without a code.
        p = x.mean(0) / 255
        blind = (p * np.log(p) + (1 - p) * np.log(1 - p)).sum()
        assert held_out[-1] > blind + 1
        assert history["kl"][-1] > 0.5

    @pytest.mark.slow
    def test_beta_presses_the_code(self):
        kl = []
        for beta in (0.1, 100.0):
            model = new_model(beta)
            # One long epoch is faster than many epochs.
            many = np.tile(images(), (60, 1, 1, 1))
            model.fit(many, batch_size=12, shuffle=False, verbose=0)
            kl.append(model.evaluate(images(), verbose=0, return_dict=True))
        assert kl[0]["kl"] > 10 * kl[1]["kl"]

    def test_early_stopping(self):
        model, x = new_model(), images()
        model.run_eagerly = True
        stop = keras.callbacks.EarlyStopping(
            "val_reconstruction", mode="max", min_delta=1e9
        )
        history = model.fit(
            x, validation_data=(x,), epochs=5, verbose=0, callbacks=[stop]
        )
        assert len(history.epoch) == 2

    def test_seed(self):
        one, same, other = (new_model(seed=seed) for seed in (1, 1, 2))
        values = [float(m.compute_loss(x=images())) for m in (one, same, other)]
        assert values[0] == values[1] != values[2]

    @pytest.mark.slow
    def test_replicas(self, strategy):
        x = images()
        with strategy.scope():
            model = new_model()
        expected = expected_logs(model, x, 1)
        logs = model.evaluate(x, batch_size=12, verbose=0, return_dict=True)
        assert_logs(logs, expected)
        losses = strategy.run(lambda: model.compute_loss(x=tf.constant(x)))
        first, second = strategy.experimental_local_results(losses)
        assert float(first) != float(second), "the same noise on both"
        model.fit(x, batch_size=12, verbose=0)

    def test_a_compiled_step_encodes_once(self):
        counter = Counter()
        counted = keras.Sequential(
            [keras.Input(SHAPE), counter, *encoder().layers]
        )
        model = BetaVAE(counted, decoder())
        model.compile(optimizer="adam")
        model.fit(images(), batch_size=4, verbose=0)
        assert counter.batches == 3

    @pytest.mark.slow
    def test_statistics_move_once_in_a_step(self):
        """Also eagerly; metrics, and a call alone, have the mean."""
        one, *others = encoder().layers
        normalization = keras.layers.BatchNormalization(momentum=0.5)
        layers = [keras.Input(SHAPE), normalization, one, *others]
        x = images()
        for eagerly in (False, True):
            model = BetaVAE(keras.Sequential(layers), decoder())
            widths = []

            def width(y_true, y_pred, widths=widths):
                widths.append(y_pred.shape[-1])
                return tf.reduce_sum(y_pred, axis=-1)

            model.compile("adam", metrics=[width], run_eagerly=eagerly)
            before = normalization.moving_mean.numpy()
            model.train_on_batch(x, np.zeros((len(x), 1)))
            assert set(widths) == {2}
            after = normalization.moving_mean.numpy()
            mean = x.astype("float64").mean(axis=(0, 1, 2))
            np.testing.assert_allclose(
                after, 0.5 * before + 0.5 * mean, rtol=1e-5
            )
            model.evaluate(x, np.zeros((len(x), 1)), verbose=0)
            assert model(x, training=True).shape == (len(x), 2)

    def test_compiled_with_a_loss(self):
        model = new_model()
        model.compile(optimizer="adam", loss="mse")
        with pytest.raises(ValueError, match="brings its own loss"):
            model.fit(images(), images(), verbose=0)
        model.compile(optimizer="sgd", run_eagerly=True)
        model.fit(images(), verbose=0)


class TestEmbedding:
    def test_is_the_mean(self):
        model, x = new_model(), images()
        expected = np.asarray(model.encoder(x))[:, :2]
        np.testing.assert_allclose(model(x), expected)
        np.testing.assert_allclose(
            model.predict(x, batch_size=5, verbose=0),
            expected,
            rtol=1e-5,
            atol=1e-7,
        )
        assert model.compute_output_shape((7, *SHAPE)) == (7, 2)
        assert not has_gaussian_output(model)
        assert has_gaussian_output(model.encoder)

    def test_bytes_are_read_like_floats(self):
        model, x = new_model(), images().astype("uint8")
        np.testing.assert_allclose(
            model.predict(x, verbose=0),
            model.predict(x.astype("float32"), verbose=0),
        )
        model.reset_metrics()
        assert_logs(
            model.test_on_batch(x, return_dict=True), expected_logs(model, x, 1)
        )

    def test_retrieval_and_few_shot(self):
        model, x = new_model(), images()
        labels = np.arange(12) % 2
        embeddings = model.predict(x, verbose=0)
        assert recall_at_k(embeddings, labels) == {1: 1.0}
        classifier = FewShotClassifier(model).fit(x[:4], labels[:4])
        np.testing.assert_array_equal(classifier.predict(x[4:]), labels[4:])

    def test_save_and_load(self, tmp_path):
        model, x = new_model(2.5, likelihood="compressed_bernoulli"), images()
        model.run_eagerly = True
        model.fit(x, epochs=3, verbose=0)
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        loaded.run_eagerly = True
        assert (loaded.beta, loaded.likelihood) == (2.5, model.likelihood)
        np.testing.assert_array_equal(
            loaded.predict(x, verbose=0), model.predict(x, verbose=0)
        )
        assert loaded.evaluate(
            x, verbose=0, return_dict=True
        ) == model.evaluate(x, verbose=0, return_dict=True)

    @pytest.mark.slow
    def test_export(self, tmp_path):
        model, x = new_model(), images()
        path = export_saved_model(model, tmp_path)
        served = tf.saved_model.load(path).signatures
        outputs = served["serving_default"](image=tf.constant(x))
        assert set(outputs) == {"embedding"}
        np.testing.assert_allclose(
            outputs["embedding"], model.predict(x, verbose=0), rtol=1e-5
        )
        answer = served["classify"](
            support=tf.constant(x[:4]),
            support_labels=tf.constant([7, -1, 7, -1]),
            query=tf.constant(x[4:]),
            seed=tf.constant([0, 0]),
        )
        chosen = np.argmax(answer["probability"], axis=1)
        np.testing.assert_array_equal(chosen, [1, 0] * 4)


def test_sprites_train_one_step():
    model = BetaVAE(
        sprites_encoder(3, gaussian=True, width=8), sprites_decoder(3, width=8)
    )
    model.compile(optimizer="adam")
    before = [weight.numpy() for weight in model.trainable_variables]
    x = np.random.default_rng(0).integers(256, size=(4, 60, 60, 3))
    model.train_on_batch(x.astype("uint8"))
    for weight, old in zip(model.trainable_variables, before, strict=True):
        assert np.isfinite(weight).all() and np.any(weight != old), weight.path


@pytest.mark.parametrize("beta", [-1, -1e-9, np.inf, np.nan])
def test_beta_out_of_range(beta):
    message = "`beta` must be a finite number of at least 0; received"
    with pytest.raises(ValueError, match=message):
        new_model(beta)


@pytest.mark.parametrize(
    ("beta", "message"),
    [
        (1e38, r"at most 1e\+18; received 1e\+38"),
        (None, "received None"),
        ("1", "received '1'"),
        ([1], r"received \[1\]"),
    ],
    ids=repr,
)
def test_no_beta(beta, message):
    with pytest.raises(ValueError, match=f"`beta` must be .*{message}"):
        new_model(beta)


@pytest.mark.parametrize("use", ["test_on_batch", "train_on_batch", "__call__"])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (images() * 1j, "imaginary part would be lost"),
        # Other shapes would be broadcast over the batch.
        (images()[..., 0], r"\(None, 4, 6, 1\); received .*\(12, 4, 6\)"),
        (images()[:, :3], r"\(None, 4, 6, 1\); received .*\(12, 3, 6, 1\)"),
    ],
    ids=["complex", "no channels", "fewer rows"],
)
def test_no_images(use, bad, message):
    with pytest.raises(ValueError, match=message):
        getattr(new_model(), use)(bad)


@pytest.mark.parametrize("num_codes", [1, 4, 24])
def test_one_code_for_each_image(num_codes):
    model, x = new_model(), images()
    codes = np.ones((num_codes, 2), "float32")
    with pytest.raises(ValueError, match=f"12 images and {num_codes} codes"):
        model.log_likelihood(x, codes)
    in_graph = tf.function(
        model.log_likelihood,
        input_signature=[
            tf.TensorSpec((None, *SHAPE)),
            tf.TensorSpec((None, 2)),
        ],
    )
    codes = np.random.default_rng(1).normal(size=(12, 2)).astype("float32")
    np.testing.assert_allclose(
        in_graph(x, codes), model.log_likelihood(x, codes), rtol=1e-5
    )
    with pytest.raises(tf.errors.InvalidArgumentError):
        in_graph(x, np.ones((num_codes, 2), "float32"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"encoder": encoder(keras.layers.Dense(4))}, "must end in a Gaussian"),
        ({"decoder": decoder(dim=4)}, r"codes \(None, 2\).*from \(None, 4\)"),
        ({"decoder": decoder(shape=(4, 6, 3))}, r"images \(None, 4, 6, 1\)"),
        (
            {"decoder": keras.Sequential([keras.layers.Dense(24)])},
            "`decoder` must be a functional or Sequential model",
        ),
        ({"encoder": GaussianEmbedding(2)}, "`encoder` must be a functional"),
        ({"likelihood": "normal"}, "'bernoulli', 'compressed_bernoulli'"),
    ],
)
def test_encoder_and_decoder_must_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        BetaVAE(**{"encoder": encoder(), "decoder": decoder(), **arguments})


@pytest.mark.parametrize("run_eagerly", [False, True])
def test_another_model_in_a_step_returns_means(run_eagerly):
    """Only the model of the step returns its whole Gaussian."""
    other, shapes = new_model(), []

    class Student(BetaVAE):
        def compute_loss(self, x=None, *args, **kwargs):
            shapes.append(tuple(other(x).shape))
            return super().compute_loss(x, *args, **kwargs)

    model = Student(encoder(), decoder())
    model.compile("sgd", run_eagerly=run_eagerly)
    model.train_on_batch(images())
    model.test_on_batch(images())
    assert {shape[-1] for shape in shapes} == {2}


@pytest.mark.parametrize("shape", [(1, 12), (12, 2), (11,)])
def test_one_weight_for_each_image(shape):
    model, x = new_model(), images()
    with pytest.raises(ValueError, match="one value for each example"):
        model.compute_loss(x, y_pred=model(x), sample_weight=np.ones(shape))


def test_weights_whose_shape_is_unknown_in_a_graph():
    model, x = new_model(), images()
    weight = np.array([1] * 5 + [0] * 7, "float32")
    loss = tf.function(
        lambda weight: model.compute_loss(
            x, y_pred=model(x), sample_weight=weight, training=False
        ),
        input_signature=[tf.TensorSpec((None, None))],
    )
    expected = expected_logs(model, x[:5], 1)["loss"] * 5 / 12
    assert loss(weight[:, None]).numpy() == pytest.approx(expected, rel=1e-4)
    with pytest.raises(tf.errors.InvalidArgumentError):
        loss(weight[None])
