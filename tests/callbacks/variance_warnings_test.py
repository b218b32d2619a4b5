import json
import pathlib
import warnings

import keras
import numpy as np
import pytest

from embeddings_tf.callbacks import EmbeddingEvaluation
from embeddings_tf.callbacks import variance_warnings
from embeddings_tf.callbacks.variance_warnings import recall_auroc_of_variance
from embeddings_tf.callbacks.variance_warnings import warn_of_useless_variance
from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.losses import TripletLoss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models.method import Method
from embeddings_tf.objectives import HedgedInstances
from embeddings_tf.objectives import StochasticPrototypes

RESULTS = pathlib.Path(__file__).parents[2] / "benchmarks" / "results"


@pytest.mark.parametrize(
    ("share", "variation", "warns"),
    [
        # On photographs, where the variance is silent (docs/uncertainty.md).
        (0.04, 0.30, True),
        # On characters and on colours, where it works.
        (0.007, 0.43, False),
        (0.014, 3.05, False),
        # On characters in 64 dimensions: too small to change a probability.
        (0.000009, 1.56, False),
    ],
)
def test_warns_of_a_collapse(share, variation, warns):
    shares = {"variance_share": share, "variance_variation": variation}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_useless_variance(shares, None, has_divergence=False)
    assert len(caught) == warns
    if warns:
        assert f"{share:.2%} of the total" in str(caught[0].message)
        assert f"varies by {variation:.0%}" in str(caught[0].message)


@pytest.mark.parametrize("has_divergence", [False, True])
@pytest.mark.parametrize("auroc", [None, 0.44, 0.5, 0.61])
def test_warns_if_it_predicts_no_errors(auroc, has_divergence):
    shares = {"variance_share": 0.2, "variance_variation": 0.6}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_useless_variance(shares, auroc, has_divergence)
    assert len(caught) == (auroc == 0.44)
    assert all("R-AUROC is 0.44" in str(c.message) for c in caught)


def test_recall_auroc_of_variance_by_hand():
    """Rows 0 and 1 have a right neighbour; 2 has none of its class."""
    points = np.array([[0.0], [1.0], [9.0], [3.0], [8.0]])
    labels = np.array([0, 0, 1, 2, 2])
    # Row 3 has the neighbour 1, and row 4 the neighbour 2: both are wrong.
    variance = np.array([[1.0, 2.0], [0.0, 1.0], [9, 9], [1, 1], [3, 3]])
    # Wrong (2 and 6) above right (3 and 1) in three of four pairs.
    found = recall_auroc_of_variance(points, variance, labels, "l2")
    assert found == 0.75


@pytest.mark.parametrize(
    ("most", "rows"),
    [
        (9, [0, 1, 2, 3, 4, 5, 6, 7]),
        # Two rows of each class, in the order of the classes.
        (7, [0, 2, 1, 5, 4, 7]),
        (3, [0, 2, 1]),
    ],
)
def test_of_many_inputs_the_first_of_each_class_are_taken(
    monkeypatch, most, rows
):
    rng = np.random.default_rng(0)
    points, variance = rng.normal(size=(2, 8, 3))
    labels = np.array([0, 1, 0, 0, 2, 1, 0, 2])
    monkeypatch.setattr(variance_warnings, "MOST_INPUTS", most)
    found = recall_auroc_of_variance(points, variance, labels, "l2")
    monkeypatch.setattr(variance_warnings, "MOST_INPUTS", 99)
    expected = recall_auroc_of_variance(
        points[rows], variance[rows], labels[rows], "l2"
    )
    assert found == expected


def test_embeddings_that_are_not_finite():
    points = np.array([[0.0], [1.0], [np.nan], [9.0]])
    labels = np.array([0, 0, 1, 1])
    assert recall_auroc_of_variance(points, points, labels, "l2") is None


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", "a", "b", "b"]),
        np.array([[0, 1]] * 4),
        np.arange(4),
        np.array([0, 0, 1, 1]),  # all right
        np.array([0, 1, 0, 1]),  # all wrong
    ],
)
def test_nothing_to_tell_apart(labels):
    points = np.array([[0.0], [1.0], [8.0], [9.0]])
    assert recall_auroc_of_variance(points, points, labels, "l2") is None


def _last_logs():
    """Recipe, whether it has a divergence, evaluation and last logs of runs."""
    for file in RESULTS.rglob("*.json"):
        run = json.loads(file.read_text())
        if not isinstance(run.get("training"), dict):
            continue
        objective = run.get("config", {}).get("objective", {})
        logs = (run["training"].get("history") or [{}])[-1]
        if "val_variance_variation" in logs:
            yield (
                run["recipe"],
                bool(objective.get("beta")),
                run.get("evaluation", {}),
                {name.removeprefix("val_"): x for name, x in logs.items()},
            )


def _warns(logs, auroc, has_divergence):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_useless_variance(logs, auroc, has_divergence)
    return len(caught)


def test_committed_runs_in_which_the_variance_works_have_not_collapsed():
    found = 0
    for _, has_divergence, evaluation, logs in _last_logs():
        rank = _rank_with_occlusion(evaluation)
        if rank is not None and rank >= 0.5:
            found += 1
            assert not _warns(logs, None, has_divergence)
    assert found


def test_committed_runs_on_photographs_warn_without_a_divergence():
    """In 64 dimensions, their variance tells no wrong answers.

    One run is just above chance, and does not warn. A run and its repetition
    with another head have the same variance.
    """
    warned, others = set(), set()
    for recipe, has_divergence, _, logs in _last_logs():
        if "image_folder_dim_64_stochastic" not in recipe:
            continue
        auroc = logs["recall_auroc_variance"]
        if _warns(logs, auroc, has_divergence):
            assert not has_divergence
            warned.add(auroc)
        elif not has_divergence:
            others.add(auroc)
    assert len(warned) >= 7
    assert len(others) <= 1
    assert all(0.5 <= auroc < 0.51 for auroc in others)


def _rank_with_occlusion(evaluation):
    """Rank correlation of the predicted variance with hidden pixels."""
    cell = evaluation.get("test", {}).get("corrupt", {})
    if "variance" in cell:
        return cell["variance"]["rank_correlation"]
    return evaluation.get("uncertainty", {}).get(
        "rank_correlation_with_occlusion"
    )


X = np.random.default_rng(0).normal(size=(24, 6)).astype("float32")
LABELS = np.arange(24) % 4


def collapsed_model(**arguments):
    """The variance does not see the input: all kernels of it are zero."""
    encoder = keras.Sequential([keras.Input((6,)), GaussianEmbedding(2)])
    encoder.layers[-1].kernel.assign(np.zeros((6, 4)))
    model = EmbeddingModel(encoder, StochasticPrototypes(3, **arguments))
    model.compile(keras.optimizers.SGD(0.0))
    model.optimizer.iterations.assign(500)
    return model


def fit(model, held_out, **more):
    return model.fit(
        X, LABELS, batch_size=24, verbose=0, callbacks=[held_out], **more
    )


@pytest.mark.slow
def test_a_training_logs_it_and_warns_once():
    held_out = EmbeddingEvaluation(X, LABELS, {"nothing": lambda *_: 0})
    with pytest.warns(UserWarning, match="has collapsed") as caught:
        history = fit(collapsed_model(), held_out, epochs=2)
    assert len([c for c in caught if "collapsed" in str(c.message)]) == 1
    # All means are equal, so the whole variance is predicted.
    assert history.history["val_variance_share"] == [1.0, 1.0]


@pytest.mark.slow
def test_a_later_training_does_not_warn_of_an_earlier_one():
    """A warning fails this test."""
    held_out = EmbeddingEvaluation(X, LABELS, {"nothing": lambda *_: 0})
    model = collapsed_model()
    with pytest.warns(UserWarning, match="has collapsed"):
        fit(model, held_out)
    fit(model, held_out, epochs=1, initial_epoch=1)  # no epoch
    with pytest.warns(UserWarning, match="has collapsed"):
        fit(model, held_out)
    points = keras.Sequential([keras.Input((6,)), keras.layers.Dense(2)])
    points.compile(keras.optimizers.SGD(0.0), TripletLoss())
    points.optimizer.iterations.assign(500)
    found = fit(points, held_out).history
    assert "val_variance_share" not in found


def test_small_variations_are_usual_with_a_divergence():
    """A warning fails this test."""
    held_out = EmbeddingEvaluation(X, LABELS, {"nothing": lambda *_: 0})
    fit(collapsed_model(beta=1e-3), held_out)


@pytest.mark.parametrize(
    ("objective", "expected"),
    [
        (StochasticPrototypes(3), False),
        (StochasticPrototypes(3, beta=1e-3), True),
        (HedgedInstances(), True),
        (HedgedInstances(beta=0.0), False),
    ],
)
def test_which_objectives_have_a_divergence(objective, expected):
    encoder = keras.Sequential([keras.Input((6,)), GaussianEmbedding(2)])
    model = EmbeddingModel(encoder, objective)
    assert Method(model).has_divergence == expected


def test_a_training_warns_of_a_variance_that_predicts_no_errors():
    """The variance is smallest where the nearest row has another class."""
    x = np.array([[-3.0], [-2.9], [-0.1], [0.1], [2.9], [3.0]], "float32")
    labels = np.array([0, 0, 0, 1, 1, 1])
    encoder = keras.Sequential([keras.Input((1,)), GaussianEmbedding(1)])
    model = EmbeddingModel(encoder, StochasticPrototypes(1))
    model.compile(keras.optimizers.SGD(0.0))

    def embed(x):
        return np.concatenate([x, x**2 + 0.1], axis=1)

    held_out = EmbeddingEvaluation(x, labels)
    held_out.embed = lambda: embed(x)
    for steps, expected in ((10, 0), (500, 1)):
        model.optimizer.iterations.assign(steps)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(x, labels, batch_size=6, verbose=0, callbacks=[held_out])
        told = [c for c in caught if "R-AUROC is 0.00" in str(c.message)]
        assert len(told) == expected
