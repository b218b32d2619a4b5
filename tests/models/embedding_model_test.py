import contextlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.layers import PairDistance
from embeddings_tf.layers import UncertaintyHead
from embeddings_tf.losses import PrototypicalLoss
from embeddings_tf.losses import TripletLoss
from embeddings_tf.losses import prototypical_loss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models import has_gaussian_output
from embeddings_tf.models import n_digit_encoder
from embeddings_tf.objectives import HedgedInstances
from embeddings_tf.objectives import LearnedDistance
from embeddings_tf.objectives import StochasticPrototypes

SHAPE = (8, 16, 1)
LABELS = np.arange(24, dtype="int32") % 3


def images(seed=0):
    """Three classes, each bright in different rows, and noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 60, size=(len(LABELS), *SHAPE))
    for c in range(3):
        x[LABELS == c, 2 * c : 2 * c + 3] += 180
    return x.astype("float32")


def new_model(encoder=None, **arguments):
    keras.utils.set_random_seed(0)
    if encoder is None:
        encoder = n_digit_encoder(2, image_shape=SHAPE)
    objective = StochasticPrototypes(**{"num_support": 4, **arguments})
    model = EmbeddingModel(encoder, objective)
    model.compile(optimizer=keras.optimizers.Adam(1e-3))
    return model


def objective_value(model, x):
    """The objective's next value; its random state is restored."""
    state = model.objective.seed_generator.state
    before = state.numpy()
    value = model.objective(LABELS, model.encoder(x))[0].numpy()
    state.assign(before)
    return value


@keras.saving.register_keras_serializable(package="tests")
class Subclassed(keras.Model):
    """An encoder whose shapes Keras does not know."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.flatten = keras.layers.Flatten()
        self.hidden = keras.layers.Dense(8, activation="relu")
        self.embedding = GaussianEmbedding(2)

    def call(self, inputs):
        return self.embedding(self.hidden(self.flatten(inputs / 255)))


def sequential():
    return keras.Sequential([keras.layers.Flatten(), GaussianEmbedding(2)])


class TestTraining:
    @pytest.mark.slow
    def test_fit_lowers_the_loss(self):
        model = new_model()
        before = float(model.objective.noise_variance)
        data = tf.data.Dataset.from_tensors((images(), LABELS)).repeat(40)
        history = model.fit(data, epochs=2, verbose=0).history["loss"]
        assert history[1] < history[0] < np.log(3)
        # The weights of the objective are trained with the encoder's.
        assert float(model.objective.noise_variance) != before

    def test_evaluate_is_the_objective(self):
        model, x = new_model(), images()
        expected = objective_value(model, x)
        loss = model.evaluate(x, LABELS, batch_size=24, verbose=0)
        np.testing.assert_allclose(loss, expected, rtol=1e-5)
        logs = model.test_on_batch(x, LABELS, return_dict=True)
        assert list(logs) == ["loss"]

    def test_predict_is_the_encoder(self):
        model, x = new_model(), images()
        expected = model.encoder(x)
        assert expected.shape == (24, 4)
        np.testing.assert_allclose(
            model.predict(x, batch_size=7, verbose=0),
            expected,
            rtol=1e-5,
            atol=1e-7,
        )
        np.testing.assert_allclose(model(x), expected, rtol=1e-5)

    def test_one_step_of_gradient_descent(self):
        """train_on_batch takes exactly the objective's gradient."""
        model, x = new_model(), images()
        model.compile(optimizer=keras.optimizers.SGD(0.1))
        state = model.objective.seed_generator.state
        before = state.numpy()
        weights = model.trainable_variables
        with tf.GradientTape() as tape:
            value = model.objective(LABELS, model.encoder(x))[0]
        gradients = tape.gradient(value, [weight.value for weight in weights])
        expected = [
            weight.numpy() - 0.1 * gradient
            for weight, gradient in zip(weights, gradients, strict=True)
        ]
        state.assign(before)
        model.train_on_batch(x, LABELS)
        for weight, value in zip(weights, expected, strict=True):
            np.testing.assert_allclose(weight, value, rtol=1e-4, atol=1e-6)

    @pytest.mark.parametrize("use", ["fit", "train_on_batch"])
    def test_the_first_step_is_traced_once(self, use):
        """Twice, if the variables of the optimizer were made in it."""
        calls = []

        class Counted(TripletLoss):
            def call(self, y_true, y_pred):
                calls.append(y_pred)
                return super().call(y_true, y_pred)

        model = EmbeddingModel(points_encoder(), Counted())
        model.compile(optimizer="adam")
        quiet = {"verbose": 0, "batch_size": 24} if use == "fit" else {}
        getattr(model, use)(images(), LABELS, **quiet)
        assert len(calls) == 1

    def test_sample_weight(self):
        """A set-wise value is scaled by the mean weight."""
        model, x = new_model(), images()
        weight = np.linspace(0, 3, 24).astype("float32")
        expected = objective_value(model, x) * weight.mean()
        loss = model.test_on_batch(x, LABELS, sample_weight=weight)
        np.testing.assert_allclose(loss, expected, rtol=1e-5)

    def test_other_than_one_weight_per_example_is_refused(self):
        model, x = new_model(), images()
        for shape in ((24, 2), (1, 24)):
            with pytest.raises(ValueError, match="one value for each example"):
                model.compute_loss(
                    x, LABELS, model(x), sample_weight=np.ones(shape)
                )

    def test_regularisers_are_added_once(self):
        inputs = keras.Input(SHAPE)
        hidden = keras.layers.Dense(
            3, kernel_regularizer="l2", activity_regularizer="l1"
        )
        x = images() / 255
        features = hidden(keras.layers.Flatten()(inputs))
        model = new_model(keras.Model(inputs, GaussianEmbedding(2)(features)))
        value = objective_value(model, x)
        kernel_penalty = 0.01 * np.square(hidden.kernel).sum()
        activity_penalty = 0.01 * np.abs(hidden(x.reshape(24, -1))).sum() / 24
        assert min(kernel_penalty, activity_penalty) > 1e-3
        loss = model.test_on_batch(x, LABELS)
        np.testing.assert_allclose(
            loss, value + kernel_penalty + activity_penalty, rtol=1e-4
        )

    def test_metrics_of_compile(self):
        model = new_model()

        def spread(y_true, y_pred):
            return tf.math.reduce_std(y_pred, axis=-1)

        model.compile("sgd", metrics=[spread], run_eagerly=True)
        logs = model.test_on_batch(images(), LABELS, return_dict=True)
        assert set(logs) == {"loss", "spread"}


class TestErrors:
    @pytest.mark.parametrize("use", ["fit", "evaluate", "train_on_batch"])
    def test_compiled_with_a_loss(self, use):
        model = new_model()
        model.compile(optimizer="adam", loss=PrototypicalLoss(4))
        quiet = {} if use == "train_on_batch" else {"verbose": 0}
        with pytest.raises(
            ValueError, match=r"trained by its objective \(StochasticProto"
        ):
            getattr(model, use)(images(), LABELS, **quiet)

    def test_compiled_again_without_the_loss(self):
        """The loss of an earlier compile is dropped."""
        found = []
        for earlier in ({"loss": "mse"}, {}):
            keras.utils.set_random_seed(0)
            model = new_model()
            model.compile("sgd", **earlier)
            model.compile("sgd", run_eagerly=True)
            logs = model.train_on_batch(images(), LABELS, return_dict=True)
            found.append(logs["loss"])
        assert found[0] == pytest.approx(found[1], rel=1e-6)

    @pytest.mark.parametrize(
        "objective", ["mse", None, prototypical_loss, TripletLoss]
    )
    def test_no_objective(self, objective):
        with pytest.raises(ValueError, match="`objective` must be a layer"):
            EmbeddingModel(n_digit_encoder(2), objective)

    @pytest.mark.parametrize("use", ["fit", "evaluate"])
    def test_without_labels(self, use):
        with pytest.raises(ValueError, match="a batch without labels"):
            getattr(new_model(), use)(images(), verbose=0)


class TestBuild:
    def test_at_once_where_the_shape_is_known(self):
        model = new_model()
        assert model.built and model.objective.built
        assert model.compute_output_shape((None, *SHAPE)) == (None, 4)
        np.testing.assert_allclose(
            model.objective.noise_variance, 4 * 0.01, rtol=1e-5
        )

    @pytest.mark.parametrize(
        ("make", "use"),
        [
            (Subclassed, "call"),
            (Subclassed, "fit"),
            (Subclassed, "predict"),
            (Subclassed, "build"),
            (sequential, "call"),
            (sequential, "build"),
        ],
    )
    def test_is_built_on_the_first_batch(self, make, use):
        model = new_model(make())
        assert not model.built
        if use == "call":
            assert model(images()).shape == (24, 4)
        elif use == "fit":
            model.fit(images(), LABELS, batch_size=24, verbose=0)
        elif use == "predict":
            assert model.predict(images(), verbose=0).shape == (24, 4)
        else:
            model.build((None, *SHAPE))
        assert model.built and model.objective.built
        assert model.compute_output_shape((None, *SHAPE)) == (None, 4)
        assert model(images()).shape == (24, 4)
        # kernels and biases, and the noise variance
        expected = 5 if make is Subclassed else 3
        assert len(model.trainable_variables) == expected

    def test_symbolic_call_of_a_subclassed_encoder(self):
        outputs = new_model(Subclassed())(keras.Input(SHAPE))
        assert outputs.shape == (None, 4)

    def test_a_layer_is_an_encoder(self):
        model = new_model(GaussianEmbedding(2))
        model.run_eagerly = True
        x = images().reshape(24, -1) / 255
        model.fit(x, LABELS, batch_size=24, verbose=0)
        assert model.predict(x, verbose=0).shape == (24, 4)

    def test_any_objective(self):
        class ScaledLoss(keras.layers.Layer):
            def build(self, y_true_shape, y_pred_shape):
                assert y_pred_shape == (None, 2)
                self.scale = self.add_weight(shape=(), initializer="ones")

            def call(self, y_true, y_pred):
                return self.scale * prototypical_loss(y_true, y_pred, 4)

        encoder = n_digit_encoder(2, gaussian=False, image_shape=SHAPE)
        model = EmbeddingModel(encoder, ScaledLoss())
        model.compile(optimizer="adam")
        model.objective.scale.assign(3.0)
        x = images()
        expected = 3 * prototypical_loss(LABELS, encoder(x), 4)[0]
        np.testing.assert_allclose(
            model.test_on_batch(x, LABELS), expected, rtol=1e-5
        )


class TestSaving:
    @pytest.mark.parametrize(
        "make", [lambda: None, Subclassed], ids=["functional", "subclassed"]
    )
    def test_restores_everything_and_continues_equally(self, make, tmp_path):
        model, x = new_model(make(), seed=3), images()
        model.run_eagerly = True
        for _ in range(3):
            model.train_on_batch(x, LABELS)
        path = tmp_path / "model.keras"
        model.save(path)
        loaded = keras.saving.load_model(path)
        loaded.run_eagerly = True
        assert isinstance(loaded, EmbeddingModel)
        assert isinstance(loaded.objective, StochasticPrototypes)
        assert loaded.objective.get_config() == model.objective.get_config()
        assert loaded.optimizer.iterations == 3
        for mine, theirs in (
            (model.variables, loaded.variables),
            (model.optimizer.variables, loaded.optimizer.variables),
        ):
            # Keras does not save the state of the sampler, an integer.
            mine, theirs = (
                [v for v in variables if "seed_generator" not in v.path]
                for variables in (mine, theirs)
            )
            assert len(mine) == len(theirs) > 0
            for one, other in zip(mine, theirs, strict=True):
                np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(
            loaded.predict_on_batch(x), model.predict_on_batch(x)
        )
        loaded.objective.seed_generator.state.assign(
            model.objective.seed_generator.state
        )
        for _ in range(2):
            losses = [m.train_on_batch(x, LABELS) for m in (model, loaded)]
            np.testing.assert_allclose(*losses, rtol=1e-6)
        for one, other in zip(
            model.trainable_variables, loaded.trainable_variables, strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


def points_encoder(wrap=False):
    layers = [keras.layers.Flatten(), keras.layers.Dense(4)]
    if wrap:
        layers = [keras.Sequential(layers)]
    return keras.Sequential([keras.Input(SHAPE), *layers])


@keras.saving.register_keras_serializable(package="tests")
class LateGaussian(keras.Model):
    """The last layer does not exist before build."""

    def build(self, input_shape):
        self.flatten = keras.layers.Flatten()
        self.embedding = GaussianEmbedding(2)

    def call(self, inputs):
        return self.embedding(self.flatten(inputs))


class TestGaussian:
    """Otherwise any even width would pass for mean and variance."""

    @pytest.mark.parametrize(
        "objective", [StochasticPrototypes, HedgedInstances]
    )
    @pytest.mark.parametrize("wrap", [False, True])
    def test_points_where_gaussians_are_needed(self, objective, wrap):
        with pytest.raises(
            ValueError, match=f"{objective.__name__} reads Gaussians"
        ):
            EmbeddingModel(points_encoder(wrap), objective(2))

    @pytest.mark.parametrize(
        "objective",
        [
            TripletLoss(),
            LearnedDistance(PairDistance((4,))),
            keras.losses.MeanSquaredError(),
        ],
    )
    @pytest.mark.parametrize("make", [sequential, Subclassed])
    def test_gaussians_where_points_are_needed(self, objective, make):
        with pytest.raises(ValueError, match="compares points"):
            EmbeddingModel(make(), objective)

    def test_last_layer_made_late(self):
        model = EmbeddingModel(LateGaussian(), TripletLoss())
        with pytest.raises(ValueError, match="TripletLoss compares points"):
            model.build((None, *SHAPE))

    def test_said_by_the_user(self, tmp_path):
        model = EmbeddingModel(
            points_encoder(), StochasticPrototypes(2), gaussian=True
        )
        assert has_gaussian_output(model) and model.gaussian is True
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        assert loaded.gaussian is True
        with pytest.raises(ValueError, match="compares points"):
            EmbeddingModel(points_encoder(), TripletLoss(), gaussian=True)

    def test_objective_of_the_user(self):
        class Mine(keras.losses.Loss):
            is_gaussian = True

            def call(self, y_true, y_pred):
                return tf.reduce_sum(y_pred, -1)

        assert EmbeddingModel(sequential(), Mine()).gaussian
        with pytest.raises(ValueError, match="Mine reads Gaussians"):
            EmbeddingModel(points_encoder(), Mine())

    def test_objective_without_build(self):
        class Mine(keras.layers.Layer):
            def call(self, y_true, y_pred):
                return tf.reduce_sum(y_pred, -1)

        with pytest.raises(ValueError, match=r"define build.* Mine.build take"):
            EmbeddingModel(points_encoder(), Mine())

    def test_a_configuration_without_the_argument(self):
        """The encoder decides, as it does for the argument None."""
        config = EmbeddingModel(
            points_encoder(), StochasticPrototypes(2), gaussian=True
        ).get_config()
        del config["gaussian"]
        with pytest.raises(ValueError, match="pass EmbeddingModel.*gaussian=T"):
            EmbeddingModel.from_config(config)


def test_callbacks_may_be_given_by_position():
    epochs = []
    ended = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: epochs.append(epoch)
    )
    encoder = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model = EmbeddingModel(encoder, TripletLoss())
    model.compile("sgd")
    x = np.random.default_rng(0).normal(size=(12, 4)).astype("float32")
    history = model.fit(x, np.repeat([0, 1], 6), 12, 2, 0, [ended])
    assert epochs == [0, 1] and "teachable_rows" in history.history


def test_parts_are_made_in_one_order():
    """Layers without a seed draw theirs when they are made."""
    made = []

    class Part(keras.layers.Dense):
        def __init__(self, *arguments, **options):
            made.append(options["name"])
            super().__init__(*arguments, **options)

    encoder = keras.Sequential([keras.Input((4,)), Part(2, name="encoder")])
    distance = keras.Sequential([keras.Input((2,)), Part(2, name="objective")])
    with keras.saving.custom_object_scope({"Part": Part}):
        config = EmbeddingModel(encoder, Own(distance)).get_config()
        made.clear()
        EmbeddingModel.from_config(dict(reversed(config.items())))
    assert made == ["encoder", "objective"]


@keras.saving.register_keras_serializable(package="embedding_model_test")
class Own(keras.layers.Layer):
    """An objective with a layer."""

    def __init__(self, layer, **options):
        super().__init__(**options)
        self.layer = layer

    def build(self, y_true_shape, y_pred_shape):
        pass

    def call(self, y_true, y_pred):
        return keras.ops.sum(self.layer(y_pred) ** 2, axis=-1)

    def get_config(self):
        layer = keras.saving.serialize_keras_object(self.layer)
        return {**super().get_config(), "layer": layer}

    @classmethod
    def from_config(cls, config):
        layer = keras.saving.deserialize_keras_object(config.pop("layer"))
        return cls(layer, **config)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "mixed_float16"])
def test_clipped_steps_of_two_replicas_equal_those_of_one(precision, strategy):
    x = np.random.default_rng(0).normal(size=(8, 3)).astype("float32")
    labels = np.repeat(np.arange(4), 2)
    found = []
    for scope in (contextlib.nullcontext(), strategy.scope()):
        with scope:
            dense = keras.layers.Dense(
                2, kernel_initializer="ones", dtype=precision
            )
            model = EmbeddingModel(
                keras.Sequential([keras.Input((3,)), dense]),
                TripletLoss(),
            )
            optimizer = keras.optimizers.SGD(1.0, global_clipnorm=0.1)
            if precision == "mixed_float16":
                optimizer = keras.optimizers.LossScaleOptimizer(optimizer)
            model.compile(optimizer)
        model.fit(x, labels, batch_size=8, epochs=2, shuffle=False, verbose=0)
        found.append(dense.kernel.numpy())
    assert np.any(found[0] != 1)
    np.testing.assert_allclose(*found, rtol=1e-3 if "16" in precision else 1e-5)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "float64"])
@pytest.mark.parametrize("kind", ["functional", "sequential"])
def test_inputs_reach_the_encoder_as_they_are(policy, kind):
    # In half precision, 4001 and 2049 are 4000 and 2048.
    ids = np.array([[4001.0], [4000.0], [2049.0]], "float32")
    layers = [keras.layers.Embedding(5000, 3, dtype="float32")]
    layers.append(keras.layers.Flatten(dtype="float32"))
    keras.config.set_dtype_policy(policy)
    try:
        encoder = keras.Sequential([keras.Input((1,)), *layers])
        if kind == "functional":
            encoder = keras.Model(encoder.inputs, encoder.outputs)
        model = EmbeddingModel(encoder, TripletLoss())
    finally:
        keras.config.set_dtype_policy("float32")
    expected = layers[0].embeddings.numpy()[ids[:, 0].astype(int)]
    np.testing.assert_array_equal(model(ids), expected)
    np.testing.assert_array_equal(model.predict(ids, verbose=0), expected)


def test_a_model_that_was_compiled_without_an_optimizer_is_loaded(tmp_path):
    encoder = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model = EmbeddingModel(encoder, TripletLoss())
    model.compile(optimizer=None)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    x = np.ones((4, 3), "float32")
    np.testing.assert_array_equal(loaded(x), model(x))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "remedy"),
    [("train_on_batch", "`fit`"), ("test_on_batch", "`evaluate`")],
)
def test_replicas_do_not_divide_a_single_batch(method, remedy, strategy):
    x = np.random.default_rng(0).normal(size=(12, 3)).astype("float32")
    labels = np.tile(np.arange(3), 4)
    with strategy.scope():
        encoder = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        model = EmbeddingModel(encoder, PrototypicalLoss(2))
        model.compile("sgd")
    expected = f"there are 2. Use {remedy}, which divides"
    with pytest.raises(ValueError, match=expected):
        getattr(model, method)(x, labels)
    # The remedy sees each row once.
    loss = model.evaluate(x, labels, batch_size=12, verbose=0)
    values = prototypical_loss(labels, encoder(x), 2)
    assert loss == pytest.approx(np.mean(values), rel=1e-5)


@pytest.mark.parametrize("has_head", [False, True])
@pytest.mark.parametrize(
    ("name", "received"),
    [
        ("two", "list of 2"),
        ("named", "a dictionary with 'a', 'b'"),
        ("sequence", r"one of shape \(None, 2, 2\)"),
    ],
)
def test_an_encoder_of_other_outputs_is_refused(name, received, has_head):
    inputs = keras.Input((3,))
    outputs = keras.layers.Dense(4)(inputs)
    if name == "two":
        outputs = [outputs, outputs]
    elif name == "named":
        outputs = {"a": outputs, "b": outputs}
    else:
        outputs = keras.layers.Reshape((2, 2))(outputs)
    encoder = keras.Model(inputs, outputs)
    head = UncertaintyHead() if has_head else None
    with pytest.raises(ValueError, match=f"one tensor.*; received {received}"):
        EmbeddingModel(encoder, TripletLoss(), uncertainty=head)


def test_a_subclassed_encoder_of_other_outputs_is_refused():
    class Two(keras.Model):
        def call(self, inputs):
            return inputs, inputs

    model = EmbeddingModel(Two(), TripletLoss())
    with pytest.raises(ValueError, match="one tensor.*received tuple of 2"):
        model(np.ones((2, 3)))


def test_a_list_of_one_output_is_an_output():
    inputs = keras.Input((3,))
    encoder = keras.Model(inputs, [keras.layers.Dense(4)(inputs)])
    model = EmbeddingModel(
        encoder, TripletLoss(), uncertainty=UncertaintyHead()
    )
    assert model.compute_output_shape((None, 3)) == (None, 4)
    embeddings, _ = model.embed_with_uncertainty(np.ones((2, 3), "float32"))
    np.testing.assert_array_equal(embeddings, model(np.ones((2, 3))))


def test_a_shape_of_numpy_integers_is_one_output():
    class Flat(keras.layers.Layer):
        def call(self, x):
            return tf.reshape(x, [-1, 12])

        def compute_output_shape(self, shape):
            return shape[0], np.prod(shape[1:])

    model = EmbeddingModel(Flat(), TripletLoss())
    assert model(np.ones((5, 3, 4), "float32")).shape == (5, 12)
