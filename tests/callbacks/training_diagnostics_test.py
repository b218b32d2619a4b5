import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing import event_accumulator

from embeddings_tf import callbacks
from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf import models
from embeddings_tf import objectives
from embeddings_tf.callbacks.embedding_measures import embedding_measures
from embeddings_tf.models.method import Method

LABELS = np.repeat(np.arange(4), 3)
X = np.random.default_rng(0).normal(size=(12, 5)).astype("float32")
GENERAL = {
    "active_rows",
    "distance_between",
    "distance_within",
    "effective_rank",
    "gradient_norm",
    "learning_rate",
    "loss",
    "norm",
}
# Names that are promised to users; TensorBoard compares runs by them.
GAUSSIAN = {"variance", "variance_share", "variance_variation"}
NAMES = {
    "triplet": GENERAL | {"active_triplets"},
    "contrastive": GENERAL | {"active_negatives"},
    "lifted": GENERAL | {"active_positives"},
    "histogram": GENERAL | {"active_pairs"},
    "binomial": GENERAL | {"active_pairs"},
    "f_statistic": GENERAL | {"active_class_pairs"},
    "prototypical": GENERAL | {"active_queries"},
    "stochastic": GENERAL | GAUSSIAN | {"active_queries", "noise_variance"},
    "full": GENERAL | GAUSSIAN | {"active_queries", "noise_variance"},
    "hedged": GENERAL | GAUSSIAN | {"active_pairs", "scale", "offset"},
    "soft": GENERAL | {"active_pairs", "scale", "offset"},
    "learned": GENERAL | {"active_pairs"},
}
LOSSES = {
    "triplet": lambda: losses.TripletLoss(),
    "contrastive": lambda: losses.ContrastiveLoss(),
    "lifted": lambda: losses.LiftedStructureLoss(),
    "histogram": lambda: losses.HistogramLoss(),
    "binomial": lambda: losses.BinomialDevianceLoss(),
    "f_statistic": lambda: losses.FStatisticLoss(),
    "prototypical": lambda: losses.PrototypicalLoss(1),
}
OBJECTIVES = {
    "stochastic": lambda: objectives.StochasticPrototypes(1),
    "full": lambda: objectives.FullCovariancePrototypes(1),
    "hedged": lambda: objectives.HedgedInstances(2),
    "soft": lambda: objectives.SoftContrastive(),
    "learned": lambda: objectives.LearnedDistance(layers.PairDistance((4,))),
}


def model_of(name, *, noisy=False, **compile):
    last = keras.layers.Dense(5 if name == "full" else 3)
    if name in ("stochastic", "hedged"):
        last = layers.GaussianEmbedding(3)
    noise = [keras.layers.BatchNormalization(), keras.layers.Dropout(0.3)]
    encoder = keras.Sequential(
        [keras.Input((5,)), *(noise if noisy else []), last]
    )
    if name in LOSSES:
        encoder.compile("adam", loss=LOSSES[name](), **compile)
        return encoder
    model = models.EmbeddingModel(encoder, OBJECTIVES[name]())
    model.compile("adam", **compile)
    return model


def fit(model, *watching, epochs=1, steps=1):
    data = tf.data.Dataset.from_tensors((X, LABELS)).repeat()
    return model.fit(
        data,
        epochs=epochs,
        steps_per_epoch=steps,
        verbose=0,
        callbacks=[*watching],
    )


def values_of(model, x=X, labels=LABELS, folder="unused"):
    """Values of a model that is not trained."""
    callback = callbacks.TrainingDiagnostics(x, labels, folder)
    callback.set_model(model)
    callback.on_train_begin()
    callback.on_epoch_end(0)
    callback.on_train_end()
    return callback.values


def events(folder):
    found = event_accumulator.EventAccumulator(
        str(folder), {"tensors": 0, "scalars": 0}
    )
    found.Reload()
    return found


def steps_of(folder, name="diagnostics/norm"):
    return [event.step for event in events(folder / "train").Tensors(name)]


@pytest.mark.parametrize("name", NAMES)
def test_names_for_every_method(name, tmp_path):
    values = values_of(model_of(name, run_eagerly=True), folder=tmp_path)
    assert set(values) == NAMES[name]
    assert np.isfinite(list(values.values())).all()
    for share in set(values) & {n for n in values if n.startswith("active_")}:
        assert 0 <= values[share] <= 1


@pytest.mark.slow
def test_variance_of_full_covariances_by_numpy(tmp_path):
    """The variances are a softplus of columns 2 and 3; means are 0 and 1."""
    layer = keras.layers.Dense(5, use_bias=False)
    encoder = keras.Sequential([keras.Input((5,)), layer])
    model = models.EmbeddingModel(
        encoder, objectives.FullCovariancePrototypes(1)
    )
    model.compile("adam")
    watch = callbacks.TrainingDiagnostics(X, LABELS, tmp_path)
    fit(model, watch)
    features = X.astype(float) @ layer.kernel.numpy().astype(float)
    variance = np.log1p(np.exp(features[:, 2:4]))
    of_inputs = variance.sum(axis=1)
    between = features[:, :2].var(axis=0).sum()
    assert watch.values["variance"] == pytest.approx(variance.mean(), rel=1e-4)
    assert watch.values["variance_share"] == pytest.approx(
        of_inputs.mean() / (of_inputs.mean() + between), rel=1e-4
    )
    assert watch.values["variance_variation"] == pytest.approx(
        of_inputs.std() / of_inputs.mean(), rel=1e-4
    )
    tags = events(tmp_path / "train").Tags()["tensors"]
    assert "distributions/variance" in tags


@pytest.mark.slow
def test_predictions_of_an_uncertainty_head(tmp_path):
    encoder = keras.Sequential(
        [keras.Input((5,)), keras.layers.Dense(3, use_bias=False)]
    )
    model = models.EmbeddingModel(
        encoder,
        losses.PrototypicalLoss(1),
        uncertainty=layers.UncertaintyHead((4,)),
    )
    model.compile("adam")
    values = values_of(model, folder=tmp_path)
    own = {"uncertainty", "uncertainty_variation"}
    # The loss encodes the batch again, with what the head reads.
    assert set(values) == NAMES["prototypical"] - {"active_rows"} | own
    expected = model.predict_uncertainty(X).astype(float)
    assert values["uncertainty"] == pytest.approx(expected.mean(), rel=1e-5)
    assert values["uncertainty_variation"] == pytest.approx(
        expected.std() / expected.mean(), rel=1e-4
    )


def test_an_attribute_of_the_name_is_no_head(tmp_path):
    model = keras.Sequential([keras.Input((5,)), keras.layers.Dense(3)])
    model.compile("adam", losses.TripletLoss())
    model.uncertainty = 0.1
    assert "uncertainty" not in values_of(model, folder=tmp_path)


@pytest.mark.slow
def test_a_model_with_its_own_loss_and_images(tmp_path):
    """BetaVAE: its loss reads the images, not the mean that it returns."""
    shape = (4, 4, 1)
    encoder = keras.Sequential(
        [
            keras.Input(shape),
            keras.layers.Rescaling(1 / 255),
            keras.layers.Flatten(),
            layers.GaussianEmbedding(2),
        ]
    )
    decoder = keras.Sequential(
        [
            keras.Input((2,)),
            keras.layers.Dense(16),
            keras.layers.Reshape(shape),
        ]
    )
    model = models.BetaVAE(encoder, decoder, beta=2.0, seed=1)
    model.compile("adam")
    rng = np.random.default_rng(0)
    x = rng.integers(0, 256, (12, *shape)).astype("float32")
    watch = callbacks.TrainingDiagnostics(x, LABELS, tmp_path, every_steps=1)
    pictures = callbacks.EmbeddingPictures(x, LABELS, tmp_path, images=x)
    projector = callbacks.EmbeddingProjector(x, LABELS, tmp_path, images=x)
    data = tf.data.Dataset.from_tensors((x, LABELS)).repeat()
    model.fit(
        data,
        epochs=2,
        steps_per_epoch=2,
        verbose=0,
        callbacks=[watch, pictures, projector],
    )
    assert steps_of(tmp_path) == [1, 2, 3, 4]
    # No row of the output has a gradient, so the share is left out.
    assert set(watch.values) == GENERAL - {"active_rows"}
    assert watch.values["gradient_norm"] > 0
    mean = model.predict(x, verbose=0)
    norms = np.linalg.norm(mean, axis=1)
    assert watch.values["norm"] == pytest.approx(norms.mean(), rel=1e-4)
    assert (tmp_path / "embedding.tsv").is_file()
    images = events(tmp_path / "validation").Tags()["tensors"]
    assert {"embedding", "neighbours"} <= set(images)


class OwnStep(keras.Model):
    """Computes its loss, the mean of squares, in its own `train_step`."""

    def __init__(self, penalty=None):
        super().__init__()
        self.dense = keras.layers.Dense(3, kernel_regularizer=penalty)

    def call(self, inputs):
        return self.dense(inputs)

    def train_step(self, data):
        x, _ = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(self(x, training=True) ** 2)
        weights = self.trainable_weights
        self.optimizer.apply(tape.gradient(loss, weights), weights)
        return {"loss": loss}


class OwnStepAndLoss(OwnStep):
    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        return tf.reduce_mean(y_pred**2)


class OwnStepAndAddedLoss(OwnStep):
    def call(self, inputs):
        outputs = super().call(inputs)
        self.add_loss(tf.reduce_mean(outputs**2))
        return outputs


@pytest.mark.parametrize("penalty", [None, "l2"])
def test_a_loss_that_only_the_own_step_knows_is_refused_at_once(
    penalty, tmp_path
):
    """A penalty of the weights is not the loss."""
    model = OwnStep(penalty)
    model.compile("adam")
    model.predict(X, verbose=0)
    before = model.get_weights()
    watch = callbacks.TrainingDiagnostics(X, LABELS, tmp_path / "logs")
    with pytest.raises(ValueError, match="OwnStep computes .* `compute_loss"):
        model.fit(X, LABELS, verbose=0, callbacks=[watch])
    np.testing.assert_equal(model.get_weights(), before)
    assert not (tmp_path / "logs").exists()


@pytest.mark.slow
def test_own_steps_whose_loss_is_known(tmp_path):
    x, labels = X[:4], LABELS[:4]

    def watched(model):
        watch = callbacks.TrainingDiagnostics(x, labels, tmp_path)
        model.fit(x, labels, verbose=0, callbacks=[watch])
        return watch.values["loss"], model.predict(x, verbose=0)

    for make in (OwnStepAndLoss, OwnStepAndAddedLoss):
        model = make()
        model.compile("adam")
        found, z = watched(model)
        assert found == pytest.approx(np.mean(z**2), rel=1e-4)
    model = OwnStep()
    model.compile("adam", loss=losses.TripletLoss(margin=2.0))
    found, z = watched(model)
    assert found == pytest.approx(float(losses.TripletLoss(2.0)(labels, z)))


@pytest.mark.slow
def test_names_in_the_event_file(tmp_path):
    watch = callbacks.TrainingDiagnostics(
        X, LABELS, tmp_path, histograms_every=2
    )
    fit(model_of("stochastic"), watch, epochs=3, steps=2)
    found = events(tmp_path / "train")
    histograms = {"distance_between", "distance_within", "norm", "variance"}
    assert set(found.Tags()["tensors"]) == {
        *(f"diagnostics/{name}" for name in NAMES["stochastic"]),
        *(f"distributions/{name}" for name in histograms),
    }
    assert steps_of(tmp_path) == [2, 4, 6]
    assert steps_of(tmp_path, "distributions/norm") == [2, 6]
    (last,) = (
        tf.make_ndarray(event.tensor_proto)
        for event in found.Tensors("diagnostics/norm")
        if event.step == 6
    )
    assert last == pytest.approx(watch.values["norm"])


def test_loss_and_gradient_by_numpy(tmp_path):
    """Of half the mean square over all pairs; only positives cost."""
    layer = keras.layers.Dense(3, use_bias=False)
    model = keras.Sequential([keras.Input((5,)), layer])
    model.compile(keras.optimizers.SGD(0.25), loss=losses.ContrastiveLoss(0.0))
    labels = np.array([0, 0, 0, 1, 1, 2])
    weight = layer.kernel.numpy().astype(float)
    loss, gradient, pairs = 0.0, np.zeros_like(weight), 0
    for i in range(6):
        for j in range(i):
            pairs += 1
            if labels[i] == labels[j]:
                difference = (X[i] - X[j]).astype(float)
                loss += np.sum((difference @ weight) ** 2) / 2
                gradient += np.outer(difference, difference) @ weight
    values = values_of(model, X[:6], labels, tmp_path)
    assert values["loss"] == pytest.approx(loss / pairs, rel=1e-5)
    norm = np.linalg.norm(gradient / pairs)
    assert values["gradient_norm"] == pytest.approx(norm, rel=1e-5)
    # The row that is alone in its class has no gradient.
    assert values["active_rows"] == pytest.approx(5 / 6)
    assert values["learning_rate"] == 0.25
    norms = np.linalg.norm(X[:6] @ weight, axis=1)
    assert values["norm"] == pytest.approx(norms.mean(), rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "triplet",
        pytest.param("stochastic", marks=pytest.mark.slow),
        pytest.param("learned", marks=pytest.mark.slow),
    ],
)
def test_training_is_the_same_bit_for_bit(name, tmp_path):
    def train(*watching):
        keras.utils.set_random_seed(7)
        model = model_of(name, noisy=True)
        history = fit(model, *watching, epochs=2, steps=2).history
        state = [*model.variables, *model.optimizer.variables]
        return history, [variable.numpy() for variable in state]

    watch = callbacks.TrainingDiagnostics(X, LABELS, tmp_path, every_steps=1)
    without, watched = train(), train(watch)
    assert steps_of(tmp_path) == [1, 2, 3, 4]
    assert without[0] == watched[0]
    for expected, found in zip(without[1], watched[1], strict=True):
        np.testing.assert_array_equal(expected, found)


@pytest.mark.every_nth(5)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "labels", [np.zeros(4, int), np.arange(4), np.zeros(1, int)], ids=str
)
def test_batches_that_teach_nothing(name, labels, tmp_path):
    model = model_of(name, run_eagerly=True)
    x = X[: len(labels)]
    for inputs in (x, np.ones_like(x)):
        values = values_of(model, inputs, labels, tmp_path)
        assert np.isfinite(list(values.values())).all(), values
        if len(set(labels)) == 1:
            assert values["distance_between"] == 0
        if len(set(labels)) == len(labels):
            assert values["distance_within"] == 0
        if inputs is not x:
            assert values["effective_rank"] == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_embeddings_that_are_not_finite(name, tmp_path):
    """The values of embeddings are NaN, in no case 0."""
    model = model_of(name, run_eagerly=True)
    values = values_of(model, X * np.nan, folder=tmp_path)
    assert set(values) == NAMES[name]
    assert np.isnan(values["loss"])
    method, labels = Method(model), np.arange(len(X)) // 2
    embeddings = model.predict(X, verbose=0)
    for bad in (np.nan, np.inf):
        embeddings[0, 0] = bad
        found = embedding_measures(method, labels, embeddings)
        assert np.isnan(list(found.values())).all(), found
        assert found.keys() <= values.keys()
    assert np.isnan([values[name] for name in found]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"run_eagerly": True},
        {"steps_per_execution": 2},
        pytest.param({"jit_compile": True}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_other_ways_to_run(options, tmp_path):
    keras.utils.set_random_seed(3)
    expected = values_of(model_of("contrastive"), folder=tmp_path)
    keras.utils.set_random_seed(3)
    model = model_of("contrastive", **options)
    assert values_of(model, folder=tmp_path) == pytest.approx(
        expected, rel=1e-4
    )
    watch = callbacks.TrainingDiagnostics(
        X, LABELS, tmp_path / "run", every_steps=2
    )
    fit(model, watch, epochs=2, steps=2)
    assert steps_of(tmp_path / "run") == [2, 4]


@pytest.mark.slow
def test_half_precision(tmp_path):
    """The loss is scaled for the gradient; the norm is not."""
    keras.utils.set_random_seed(3)
    expected = values_of(model_of("contrastive"), folder=tmp_path)
    keras.config.set_dtype_policy("mixed_float16")
    try:
        keras.utils.set_random_seed(3)
        model = model_of("contrastive")
        fit(model, steps=1)
        keras.utils.set_random_seed(3)
        model = model_of("contrastive")
        found = values_of(model, folder=tmp_path)
    finally:
        keras.config.set_dtype_policy("float32")
    assert found == pytest.approx(expected, rel=2e-2)


@pytest.mark.slow
def test_two_replicas_equal_one(strategy, tmp_path):
    def values(name):
        keras.utils.set_random_seed(5)
        return values_of(model_of(name), X[:11], LABELS[:11], tmp_path)

    for name in ("contrastive", "soft"):
        expected = values(name)
        with strategy.scope():
            found = values(name)
        assert found == pytest.approx(expected, rel=1e-4), name


@pytest.mark.slow
def test_a_resumed_training_continues_the_steps(tmp_path):
    model = model_of("triplet")
    fit(model, callbacks.TrainingDiagnostics(X, LABELS, tmp_path), steps=3)
    model.save(tmp_path / "model.keras")
    model = keras.saving.load_model(tmp_path / "model.keras")
    folder = tmp_path / "resumed"
    fit(model, callbacks.TrainingDiagnostics(X, LABELS, folder), steps=3)
    assert steps_of(folder) == [6]


def test_shares_change_no_seed():
    model = model_of("hedged")
    before = [variable.numpy() for variable in model.variables]
    Method(model).batch_diagnostics(LABELS, model.predict(X, verbose=0))
    for variable, value in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)


@pytest.mark.parametrize(
    "x, labels, error",
    [
        (X, LABELS[:5], "received 12 inputs and 5 labels"),
        (X[:0], LABELS[:0], r"not be empty; received shape \(0,\)"),
    ],
    ids=["fewer", "empty"],
)
def test_not_a_batch(x, labels, error, tmp_path):
    with pytest.raises(ValueError, match=error):
        callbacks.TrainingDiagnostics(x, labels, tmp_path)


@pytest.mark.slow
def test_the_rate_of_an_epoch_is_not_that_of_the_next(tmp_path):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.compile(keras.optimizers.SGD(0.5), losses.TripletLoss())
    lower = keras.callbacks.ReduceLROnPlateau("loss", 0.1, 1, min_delta=100)
    x, labels = np.ones((4, 3), "float32"), np.array([0, 0, 1, 1])
    watch = callbacks.TrainingDiagnostics(x, labels, tmp_path)
    found = []

    class Rates(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            found.append(watch.values["learning_rate"])

    calls = [lower, watch, Rates()]
    model.fit(x, labels, epochs=3, verbose=0, callbacks=calls)
    np.testing.assert_allclose(found, [0.5, 0.5, 0.05])


@pytest.mark.slow
def test_a_learning_rate_that_is_a_plain_number(tmp_path):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    rate = keras.optimizers.SGD(learning_rate=lambda: 0.25)
    model.compile(rate, loss=losses.TripletLoss())
    x = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
    watch = callbacks.TrainingDiagnostics(x, np.arange(8) % 2, tmp_path)
    model.fit(x, np.arange(8) % 2, verbose=0, callbacks=[watch])
    assert watch.values["learning_rate"] == 0.25


@pytest.mark.slow
def test_a_head_of_an_encoder_with_two_inputs(tmp_path):
    inputs = {n: keras.Input((w,), name=n) for n, w in [("a", 3), ("b", 2)]}
    joined = keras.layers.Concatenate()([inputs["a"], inputs["b"]])
    encoder = keras.Model(inputs, keras.layers.Dense(2)(joined))
    model = models.EmbeddingModel(
        encoder, losses.TripletLoss(), uncertainty=layers.UncertaintyHead()
    )
    model.compile("sgd")
    rng = np.random.default_rng(0)
    x = {
        "a": rng.normal(size=(8, 3)).astype("float32"),
        "b": rng.normal(size=(8, 2)).astype("float32"),
    }
    labels = np.arange(8) % 2
    watch = callbacks.TrainingDiagnostics(x, labels, tmp_path)
    model.fit(x, labels, verbose=0, callbacks=[watch])
    expected = model.embed_with_uncertainty(x)[1].numpy().mean()
    assert watch.values["uncertainty"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
def test_a_loss_per_row_on_replicas(tmp_path, strategy):
    with strategy.scope():
        dense = keras.layers.Dense(2)
        encoder = keras.Sequential([keras.Input((5,)), dense])
        encoder.compile("sgd", losses.TripletLoss(reduction="none"))
    watch = callbacks.TrainingDiagnostics(X[:11], LABELS[:11], tmp_path)
    encoder.fit(X, LABELS, batch_size=12, verbose=0, callbacks=[watch])
    values = losses.triplet_loss(LABELS[:11], encoder(X[:11]))
    assert watch.values["loss"] == pytest.approx(np.mean(values), rel=1e-4)


@pytest.mark.slow
def test_a_loss_per_row(tmp_path):
    encoder = keras.Sequential([keras.Input((5,)), keras.layers.Dense(2)])
    encoder.compile("sgd", losses.TripletLoss(reduction="none"))
    watch = callbacks.TrainingDiagnostics(X, LABELS, tmp_path)
    encoder.fit(X, LABELS, batch_size=12, verbose=0, callbacks=[watch])
    z = tf.Variable(encoder(X))
    with tf.GradientTape() as tape:
        values = losses.triplet_loss(LABELS, z)
    assert watch.values["loss"] == pytest.approx(np.mean(values), rel=1e-4)
    # A step descends the sum of the values: of the kernel x^T g, the bias.
    slope = tape.gradient(values, z).numpy()
    square = np.sum((X.T @ slope) ** 2) + np.sum(slope.sum(axis=0) ** 2)
    assert watch.values["gradient_norm"] == pytest.approx(
        np.sqrt(square), rel=1e-3
    )
