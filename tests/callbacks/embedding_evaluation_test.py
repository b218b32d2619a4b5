import keras
import numpy as np
import pytest

from embeddings_tf import metrics
from embeddings_tf.callbacks import EmbeddingEvaluation
from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.losses import HistogramLoss
from embeddings_tf.losses import PrototypicalLoss
from embeddings_tf.losses import TripletLoss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import StochasticPrototypes

LABELS = np.arange(24) % 4


def inputs(seed=0):
    rng = np.random.default_rng(seed)
    centres = np.eye(4, 6)
    noise = rng.normal(scale=0.4, size=(24, 6))
    return (centres[LABELS] + noise).astype("float32")


def point_model():
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(2)])
    model.compile(optimizer="adam", loss=PrototypicalLoss(3))
    return model


def gaussian_model():
    keras.utils.set_random_seed(1)
    encoder = keras.Sequential([keras.Input((6,)), GaussianEmbedding(2)])
    model = EmbeddingModel(encoder, StochasticPrototypes(3))
    model.compile(optimizer="adam")
    return model


def recall_by_loop(embeddings):
    """Whether each row's nearest other row has the same label."""
    hits = []
    for i, row in enumerate(embeddings):
        far = ((embeddings - row) ** 2).sum(axis=1)
        far[i] = np.inf
        hits.append(LABELS[far.argmin()] == LABELS[i])
    return np.mean(hits)


@pytest.mark.slow
@pytest.mark.parametrize("make", [point_model, gaussian_model])
def test_in_a_plain_fit(make):
    model, held_out = make(), inputs(1)
    evaluation = EmbeddingEvaluation(held_out, LABELS, batch_size=7)
    history = model.fit(
        inputs(), LABELS, batch_size=24, verbose=0, callbacks=[evaluation]
    )
    (recall,) = history.history["val_recall_at_1"]
    # For a Gaussian embedding, recall uses the means.
    embeddings = model.predict(held_out, verbose=0)[:, :2]
    assert recall == metrics.recall_at_k(embeddings, LABELS)[1]
    assert recall == pytest.approx(recall_by_loop(embeddings))
    assert 0 < recall < 1


@pytest.mark.slow
def test_early_stopping_monitors_it():
    """The value rises, then falls twice: stopped with the best weights."""
    values = iter([0.2, 0.9, 0.5, 0.4, 0.3])
    model = point_model()
    weights = []

    def score(embeddings, labels):
        np.testing.assert_array_equal(labels, LABELS)
        weights.append(model.get_weights())
        return next(values)

    callbacks = [
        EmbeddingEvaluation(inputs(1), LABELS, {"score": score}),
        keras.callbacks.EarlyStopping(
            "val_score", mode="max", patience=2, restore_best_weights=True
        ),
    ]
    history = model.fit(
        inputs(),
        LABELS,
        batch_size=24,
        epochs=5,
        verbose=0,
        callbacks=callbacks,
    )
    assert history.history["val_score"] == [0.2, 0.9, 0.5, 0.4]
    assert "val_recall_at_1" not in history.history
    for actual, expected in zip(model.get_weights(), weights[1], strict=True):
        np.testing.assert_array_equal(actual, expected)


def run(evaluation, model):
    evaluation.set_model(model)
    logs = {}
    evaluation.on_epoch_end(0, logs)
    return logs


def test_several_metrics_see_what_the_model_returns():
    """In batches of any size."""
    model = gaussian_model()
    expected = model.predict_on_batch(inputs())
    assert expected.shape == (24, 4)
    for batch_size in (1, 5, 24, 100):
        seen = []
        logs = run(
            EmbeddingEvaluation(
                inputs(),
                LABELS.tolist(),
                {
                    "first": lambda e, y, seen=seen: seen.append(e) or 1,
                    "second": lambda e, y: np.float32(y.sum()),
                },
                batch_size=batch_size,
            ),
            model,
        )
        np.testing.assert_allclose(seen[0], expected, rtol=1e-5, atol=1e-6)
        variance = expected[:, 2:].sum(axis=1)
        own, between = variance.mean(), expected[:, :2].var(axis=0).sum()
        assert logs == {
            "val_first": 1.0,
            "val_second": LABELS.sum(),
            "val_variance_share": pytest.approx(own / (own + between)),
            "val_variance_variation": pytest.approx(variance.std() / own),
        }
        assert all(type(value) is float for value in logs.values())


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (LABELS.astype(str), "must be integers"),
        (np.eye(3)[LABELS % 3], r"shape"),
        (np.arange(24), "no class has two inputs.*24 labels, all different"),
    ],
)
def test_labels_that_recall_cannot_use_are_refused_before(labels, message):
    with pytest.raises(ValueError, match=message):
        EmbeddingEvaluation(inputs(), labels)
    EmbeddingEvaluation(inputs(), labels, {"own": lambda z, labels: 1.0})


def test_labels_as_a_column():
    found = EmbeddingEvaluation(inputs(), LABELS[:, None]).labels
    np.testing.assert_array_equal(found, LABELS)


@pytest.mark.parametrize(("rows", "labels"), [(24, 23), (0, 0), (1, 0)])
def test_lengths(rows, labels):
    with pytest.raises(
        ValueError, match=f"received {rows} inputs and {labels} labels"
    ):
        EmbeddingEvaluation(inputs()[:rows], LABELS[:labels])


def test_a_metric_that_is_not_finite():
    evaluation = EmbeddingEvaluation(
        inputs(), LABELS, {"score": lambda e, y: np.nan}
    )
    with pytest.raises(
        ValueError,
        match="score of the held-out set is nan after epoch 1, .* are finite",
    ):
        run(evaluation, point_model())


@pytest.mark.parametrize(
    "value", [None, "high", [0.5, 0.5], {"a": 1}, 1j], ids=repr
)
def test_a_metric_that_is_no_number(value):
    evaluation = EmbeddingEvaluation(
        inputs(), LABELS, {"score": lambda e, y: value}
    )
    message = r"`metrics\['score'\]` must return one number; received"
    with pytest.raises(ValueError, match=message):
        run(evaluation, point_model())


@pytest.mark.parametrize("x", [None, 3.0, "hostile"])
def test_inputs_without_rows(x):
    with pytest.raises(ValueError, match="`x` must have one row per input"):
        EmbeddingEvaluation(x, LABELS)


def test_embeddings_that_are_not_finite():
    """One clear message, even if the metric returns a number for NaN."""
    model = point_model()
    model.layers[-1].bias.assign([np.nan, 0])
    message = "became NaN .* in epoch 1; lower the learning rate .*clipnorm"
    for measures in ({}, {"score": lambda e, y: 1.0}):
        with pytest.raises(FloatingPointError, match=message):
            run(EmbeddingEvaluation(inputs(), LABELS, measures), model)


def test_inputs_that_are_not_finite():
    """The training is not at fault."""
    x = inputs()
    x[5, 2] = np.inf
    with pytest.raises(ValueError, match="Input 5 is not finite"):
        run(EmbeddingEvaluation(x, LABELS), point_model())


def test_the_default_recall_uses_the_distance_of_the_loss():
    # By the cosine all neighbours are of the class, by the distance none of
    # the first of each class.
    x = np.array([[1, 0], [10, 0], [0, 1], [0, 10]], "float32")
    labels = np.array([0, 0, 1, 1])
    for loss, expected in [(HistogramLoss(), 1.0), (TripletLoss(), 0.5)]:
        model = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
        model.compile("sgd", loss=loss)
        held_out = EmbeddingEvaluation(x, labels)
        held_out.set_model(model)
        logs = {}
        held_out.on_epoch_end(0, logs)
        assert logs["val_recall_at_1"] == expected
