import json
import pathlib
import warnings

import keras
import numpy as np
import pytest

from embeddings_tf.callbacks import EmbeddingEvaluation
from embeddings_tf.callbacks.variance_shares import variance_shares
from embeddings_tf.callbacks.variance_shares import warn_if_collapsed
from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.losses import TripletLoss
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import StochasticPrototypes

RESULTS = pathlib.Path(__file__).parents[2] / "benchmarks" / "results"


def test_law_of_total_variance():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(5000, 2)) * [1, 2]
    variance = rng.gamma(2, size=(5000, 2))
    found = variance_shares(mean, variance)
    samples = mean + np.sqrt(variance) * rng.normal(size=(400, 5000, 2))
    total = samples.reshape(-1, 2).var(axis=0).sum()
    expected = variance.sum(-1).mean() / total
    assert found["variance_share"] == pytest.approx(expected, rel=0.01)
    spread = variance.sum(-1).std() / variance.sum(-1).mean()
    assert found["variance_variation"] == pytest.approx(spread, rel=1e-5)


def test_no_variance_at_all():
    found = variance_shares(np.zeros((3, 2)), np.zeros((3, 2)))
    assert found == {"variance_share": 0.0, "variance_variation": 0.0}


@pytest.mark.parametrize(
    ("share", "variation", "steps", "warns"),
    [
        # On photographs, where the variance is silent (docs/uncertainty.md).
        (0.04, 0.30, 500, True),
        (0.2, 0.1, 499, False),
        # On characters and on colours, where it works.
        (0.007, 0.43, 9999, False),
        (0.014, 3.05, 9999, False),
        # On characters in 64 dimensions: too small to change a probability.
        (0.000009, 1.56, 9999, False),
    ],
)
def test_warns_of_a_collapse(share, variation, steps, warns):
    shares = {"variance_share": share, "variance_variation": variation}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_if_collapsed(shares, steps)
    assert len(caught) == warns
    if warns:
        assert f"{share:.2%} of the total" in str(caught[0].message)
        assert f"varies by {variation:.0%}" in str(caught[0].message)


def test_committed_runs_in_which_the_variance_works_do_not_warn():
    found = 0
    for file in RESULTS.rglob("*.json"):
        run = json.loads(file.read_text())
        if not isinstance(run.get("training"), dict):
            continue
        objective = run.get("config", {}).get("objective", {})
        if "Prototypes" in objective.get("name", "") and objective.get("beta"):
            continue  # a training with a divergence never warns
        history = run["training"].get("history", [])
        shares = {
            name.removeprefix("val_"): value
            for row in history[-1:]
            for name, value in row.items()
            if name.startswith("val_variance_")
        }
        rank = _rank_with_occlusion(run.get("evaluation", {}))
        if shares and rank is not None and rank >= 0.5:
            found += 1
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warn_if_collapsed(shares, 9999)
    assert found


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


def test_a_training_logs_it_and_warns_once():
    held_out = EmbeddingEvaluation(X, LABELS, {"nothing": lambda *_: 0})
    with pytest.warns(UserWarning, match="has collapsed") as caught:
        history = fit(collapsed_model(), held_out, epochs=2)
    assert len([c for c in caught if "collapsed" in str(c.message)]) == 1
    # All means are equal, so the whole variance is predicted.
    assert history.history["val_variance_share"] == [1.0, 1.0]


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
