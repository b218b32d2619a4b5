import warnings

import keras
import numpy as np
import pytest

from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf import models
from embeddings_tf import objectives

# Rows of 5 classes, strided: batches of 15 have 3 of each class.
LABELS = np.tile(np.arange(5), 18)
SINGLETONS = np.arange(90)
X = np.random.default_rng(0).normal(size=(90, 4)).astype("float32")


def plain(loss, **options):
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model.compile("sgd", loss=loss, **options)
    return model


def joined(objective, **options):
    is_loss = isinstance(objective, keras.losses.Loss)
    head = keras.layers.Dense(2) if is_loss else layers.GaussianEmbedding(2)
    encoder = keras.Sequential([keras.Input((4,)), head])
    model = models.EmbeddingModel(encoder, objective)
    model.compile("sgd", **options)
    return model


def warnings_of_fit(model, labels, batch_size=15, epochs=1, **options):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        history = model.fit(
            X,
            labels,
            batch_size=batch_size,
            epochs=epochs,
            shuffle=False,
            verbose=0,
            **options,
        )
    texts = [str(w.message) for w in found]
    return [text for text in texts if "teach" in text], history.history


WAYS = [
    {},
    {"jit_compile": True},
    {"run_eagerly": True},
    {"steps_per_execution": 4},
]
EAGER = {"run_eagerly": True}


@pytest.fixture(params=[EAGER, pytest.param({}, marks=pytest.mark.slow)])
def options(request):
    """Tests that do not depend on graphs trace them in `make test-all` only."""
    return request.param


@pytest.mark.every_nth(3)
@pytest.mark.parametrize("options", WAYS, ids=str)
def test_warns_once_with_reason_and_sampler(options):
    model = plain(losses.PrototypicalLoss(5), **options)
    found, history = warnings_of_fit(model, LABELS, epochs=3)
    assert history["loss"] == [0, 0, 0]
    (text,) = found
    assert "PrototypicalLoss" in text and "0%" in text
    assert "at least 6 rows" in text
    assert "sampling.episodes(" in text and "num_support=5" in text


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(way, marks=[pytest.mark.slow] * (way != EAGER))
        for way in WAYS
    ],
    ids=str,
)
def test_silent_where_rows_teach(options):
    model = plain(losses.PrototypicalLoss(2), **options)
    found, _ = warnings_of_fit(model, LABELS, epochs=2)
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "labels", [SINGLETONS, np.zeros(90, int)], ids=["singletons", "one_class"]
)
def test_objective_logs_the_share_and_warns(labels, options):
    model = joined(objectives.StochasticPrototypes(2), **options)
    found, history = warnings_of_fit(
        model, labels, epochs=2, validation_data=(X, LABELS)
    )
    assert len(found) == 1 and "StochasticPrototypes" in found[0]
    assert history["teachable_rows"] == [0, 0]


def test_share_of_rows(options):
    # 3 of 15 rows are of class 0 and 3 of class 1; the rest are singletons.
    labels = np.tile([0, 0, 0, 1, 1, 1, *range(2, 11)], 6)
    model = joined(objectives.StochasticPrototypes(2), **options)
    found, history = warnings_of_fit(model, labels)
    assert found == []
    np.testing.assert_allclose(history["teachable_rows"], [6 / 15])


def test_loss_in_an_embedding_model_logs_the_share(options):
    model = joined(losses.TripletLoss(), **options)
    found, history = warnings_of_fit(model, LABELS)
    assert found == [] and history["teachable_rows"] == [1]


def test_tail_batch_of_one_row_is_no_alarm(options):
    found, _ = warnings_of_fit(
        plain(losses.TripletLoss(), **options), LABELS, 89
    )
    assert found == []


def test_most_batches_decide(options):
    half = np.where(np.arange(90) < 30, SINGLETONS, 100 + LABELS)
    found, _ = warnings_of_fit(plain(losses.TripletLoss(), **options), half)
    assert found == []
    most = np.where(np.arange(90) < 60, SINGLETONS, 100 + LABELS)
    found, _ = warnings_of_fit(plain(losses.TripletLoss(), **options), most)
    assert len(found) == 1 and "33%" in found[0]


@pytest.mark.slow
def test_validation_does_not_count(options):
    model = plain(losses.TripletLoss(), **options)
    found, _ = warnings_of_fit(
        model, LABELS, epochs=2, validation_data=(X, SINGLETONS)
    )
    assert found == []
    model.evaluate(X, SINGLETONS, verbose=0)


def test_other_answers_of_the_model_stay(tmp_path, options):
    model = joined(objectives.StochasticPrototypes(2), **options)
    assert isinstance(model.train_on_batch(X, LABELS), float)
    assert isinstance(model.evaluate(X, LABELS, verbose=0), float)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(
        loaded.predict(X, verbose=0), model.predict(X, verbose=0)
    )
    found, _ = warnings_of_fit(loaded, SINGLETONS)
    assert len(found) == 1


@pytest.mark.slow
@pytest.mark.parametrize("make", [plain, joined])
@pytest.mark.parametrize("labels", [SINGLETONS, LABELS], ids=["bad", "good"])
def test_replicas(make, labels, strategy):
    with strategy.scope():
        model = make(losses.TripletLoss())
    found, history = warnings_of_fit(model, labels, batch_size=30)
    assert len(found) == (labels is SINGLETONS)
    if make is joined:
        expected = 0 if labels is SINGLETONS else 1
        np.testing.assert_allclose(history["teachable_rows"], [expected])


def test_two_losses_of_one_model(options):
    inputs = keras.Input((4,))
    outputs = [keras.layers.Dense(2)(inputs), keras.layers.Dense(3)(inputs)]
    model = keras.Model(inputs, outputs)
    model.compile(
        "sgd",
        loss=[losses.TripletLoss(), losses.PrototypicalLoss(4)],
        **options,
    )
    found, _ = warnings_of_fit(model, [LABELS, LABELS])
    assert len(found) == 1 and "PrototypicalLoss" in found[0]


def test_loss_beside_others(options):
    inputs = keras.Input((4,))
    outputs = [keras.layers.Dense(2)(inputs), keras.layers.Dense(1)(inputs)]
    model = keras.Model(inputs, outputs)
    model.compile("sgd", loss=[losses.TripletLoss(), "mse"], **options)
    found, history = warnings_of_fit(model, [SINGLETONS, X[:, 0]])
    assert len(found) == 1
    of_outputs = {f"{name}_loss" for name in model.output_names}
    assert set(history) == {"loss", *of_outputs}
