import itertools
import json
import math
import re

import keras
import numpy as np
import pytest
from scipy import special

from embeddings_tf.layers import PairDistance
from embeddings_tf.models import EmbeddingModel
from embeddings_tf.objectives import HedgedInstances
from embeddings_tf.objectives import LearnedDistance
from embeddings_tf.objectives import StochasticPrototypes
from embeddings_tf.scoring import IsotonicCalibration
from embeddings_tf.scoring import LogisticCalibration
from embeddings_tf.scoring import Verifier
from embeddings_tf.scoring.verifier import NUM_RESAMPLES

RNG = np.random.default_rng(0)
LABELS = np.repeat([f"c{n}" for n in range(20)], 4)
CENTRES = 2 * RNG.normal(size=(20, 2))
X = (np.repeat(CENTRES, 4, axis=0) + RNG.normal(size=(80, 2))).astype("float32")


def points():
    return keras.Sequential([keras.Input((2,)), keras.layers.Identity()])


@pytest.fixture(scope="module")
def verifier():
    return Verifier(points()).fit(X, LABELS, 0.05)


def every_pair():
    pairs = np.array([*itertools.combinations(range(80), 2)])
    scores = -np.square(X[pairs[:, 0]] - X[pairs[:, 1]]).sum(axis=1)
    return pairs, scores, LABELS[pairs[:, 0]] == LABELS[pairs[:, 1]]


def test_threshold_by_loop(verifier):
    _, scores, same = every_pair()
    accepted = scores[~same] >= verifier.threshold_
    # The lowest threshold with at most 5 %.
    assert np.mean(accepted) <= 0.05
    assert np.mean(accepted) > 0.05 - 1 / np.sum(~same)
    report = verifier.report_
    np.testing.assert_allclose(
        report["reached_false_accept_rate"], np.mean(accepted)
    )
    np.testing.assert_allclose(
        report["miss_rate"], np.mean(scores[same] < verifier.threshold_)
    )
    low, high = report["interval"]
    assert low < np.mean(accepted) < high
    assert report["num_same"] == same.sum() == 20 * 6
    assert report["num_different"] == np.sum(~same)


@pytest.mark.parametrize("count", [2, 4, 5])
def test_few_classes_have_no_interval(count, tmp_path):
    """Resamples of two classes are the classes, so it would have no width."""
    resamples = []
    verifier = Verifier(points()).fit(
        X[: 4 * count], LABELS[: 4 * count], 0.2, progress=resamples.append
    )
    has_interval = count >= 5
    assert (verifier.report_["interval"] is not None) == has_interval
    assert len(resamples) == NUM_RESAMPLES * has_interval
    assert verifier.report_["num_classes"] == count
    verifier.save(tmp_path / "verifier.json")
    found = Verifier.load(tmp_path / "verifier.json", verifier.model)
    assert found.report_ == verifier.report_


def test_answers_by_loop(verifier):
    _, scores, same = every_pair()
    first, second = X[:9], X[5:14]
    calibration = LogisticCalibration().fit(scores, same)
    wanted = -np.square(first - second).sum(axis=1)
    ratio = calibration.transform(wanted)
    np.testing.assert_allclose(
        verifier.log_likelihood_ratio(first, second), ratio, rtol=1e-3
    )
    np.testing.assert_allclose(
        verifier.predict_proba(first, second), special.expit(ratio), rtol=1e-3
    )
    np.testing.assert_array_equal(
        verifier.predict(first, second), wanted >= verifier.threshold_
    )
    rare = Verifier(points(), target_prior=0.01).fit(X, LABELS, 0.05)
    np.testing.assert_allclose(
        rare.predict_proba(first, second),
        special.expit(ratio + np.log(0.01 / 0.99)),
        rtol=1e-3,
    )


@pytest.mark.slow
def test_the_interval_covers_the_rate_of_new_classes():
    """In most of several draws of held-out classes."""
    covered = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x = 2 * rng.normal(size=(1040, 1, 2)) + rng.normal(size=(1040, 4, 2))
        x = x.astype("float32")
        held_out, labels = x[:40].reshape(-1, 2), np.repeat(np.arange(40), 4)
        verifier = Verifier(points(), embedded=True)
        verifier.fit(held_out, labels, 0.05)
        low, high = verifier.report_["interval"]
        new = x[40:, 0]
        pairs = np.concatenate([np.roll(new, n, axis=0) for n in range(1, 21)])
        accepted = verifier.predict(np.tile(new, (20, 1)), pairs)
        covered.append(low <= accepted.mean() <= high)
    assert np.mean(covered) >= 0.7


@pytest.mark.parametrize("calibration", ["logistic", "isotonic"])
@pytest.mark.parametrize("kind", ["learned", "hedged", "prototypes"])
def test_every_method(kind, calibration):
    packed = np.hstack([X, 0.1 + np.abs(X)]).astype("float32")
    gaussian = keras.Sequential([keras.Input((4,)), keras.layers.Identity()])
    objective = {
        "learned": lambda: LearnedDistance(PairDistance(hidden_units=(4,))),
        "hedged": lambda: HedgedInstances(4),
        "prototypes": lambda: StochasticPrototypes(2),
    }[kind]()
    if kind == "learned":
        model, x = EmbeddingModel(points(), objective), X
    else:
        model, x = EmbeddingModel(gaussian, objective, gaussian=True), packed
    verifier = Verifier(model, calibration=calibration)
    if kind != "prototypes":  # the score itself is a likelihood ratio
        np.testing.assert_array_equal(
            verifier.log_likelihood_ratio(x[:5], x[1:6]),
            verifier.score_samples(x[:5], x[1:6]),
        )
    verifier.fit(x, LABELS, 0.1)
    seed = {"seed": [0, 0]} if kind == "hedged" else {}
    wanted = np.asarray(objective.score_pairs(x[:5], x[1:6], **seed))
    np.testing.assert_allclose(
        verifier.score_samples(x[:5], x[1:6]), wanted, rtol=1e-4
    )
    assert np.isfinite(verifier.log_likelihood_ratio(x[:5], x[1:6])).all()


def test_separable_pairs_are_calibrated_isotonically(tmp_path):
    """Three distant points with little noise: no line is the best."""
    labels = np.repeat(["a", "b", "c"], 4)
    noise = np.tile([[0, 0], [0.1, 0], [0, 0.1], [0.1, 0.1]], (3, 1))
    x = np.repeat([[0, 0], [5, 0], [0, 9]], 4, axis=0) + noise
    x = x.astype("float32")
    verifier = Verifier(points()).fit(x, labels, 0.05)
    assert verifier.calibration == "logistic"
    assert verifier.report_["calibration"] == "isotonic"
    pairs = np.array([*itertools.combinations(range(12), 2)])
    scores = -np.square(x[pairs[:, 0]] - x[pairs[:, 1]]).sum(axis=1)
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    assert scores[same].min() > scores[~same].max()
    ratios = IsotonicCalibration().fit(scores, same).transform(scores)
    path = tmp_path / "verifier.json"
    verifier.save(path)
    for found in (verifier, Verifier.load(path, points())):
        np.testing.assert_allclose(
            found.log_likelihood_ratio(x[pairs[:, 0]], x[pairs[:, 1]]),
            ratios,
            rtol=1e-3,
        )
        one, two = x[pairs[same, 0]], x[pairs[same, 1]]
        assert found.predict(one, two).all()


def test_one_far_example_does_not_spoil_the_ratios():
    """Its pairs are of different classes, and have far the lowest scores."""
    model = points()
    expected = Verifier(model).fit(X, LABELS, 0.05)
    with_far = np.concatenate([X, np.float32([[3e7, 0]])])
    found = Verifier(model).fit(with_far, [*LABELS, "far"], 0.05)
    np.testing.assert_allclose(
        found.log_likelihood_ratio(X[:-1], X[1:]),
        expected.log_likelihood_ratio(X[:-1], X[1:]),
        # 80 pairs more are right: 2.6 % of the pairs of two classes.
        atol=0.05,
    )
    assert found.report_["cllr"] < expected.report_["cllr"]


def test_the_report_says_what_was_fitted(verifier):
    assert verifier.report_["calibration"] == "logistic"


def test_many_examples_are_drawn(monkeypatch):
    monkeypatch.setattr("embeddings_tf.scoring.verifier.MOST_PAIRS", 50)
    report = Verifier(points()).fit(X, LABELS, 0.1).report_
    assert report["num_same"] == report["num_different"] == 50


def test_file(verifier, tmp_path):
    path = tmp_path / "verifier.json"
    verifier.save(path)
    loaded = Verifier.load(path, points())
    assert loaded.report_ == verifier.report_
    for name in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_array_equal(
            getattr(loaded, name)(X[:5], X[3:8]),
            getattr(verifier, name)(X[:5], X[3:8]),
        )
    other = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2)])
    with pytest.raises(ValueError, match="another model"):
        Verifier.load(path, other)
    values = json.loads(path.read_text())
    del values["report"]["calibration"]
    path.write_text(json.dumps(values))
    with pytest.raises(ValueError, match="isotonic; received None. Fit the v"):
        Verifier.load(path, points())
    for report in (None, 3, [["calibration", "logistic"]]):
        path.write_text(json.dumps({**values, "report": report}))
        with pytest.raises(ValueError, match="`report` must be a mapping"):
            Verifier.load(path, points())
    path.write_text(json.dumps({**values, "kind": "another"}))
    with pytest.raises(ValueError, match="'another'. Save the values again"):
        Verifier.load(path, points())
    path.write_text("{")
    with pytest.raises(ValueError, match="damaged .*Write the file again"):
        Verifier.load(path, points())


def test_refusals(verifier):
    new = Verifier(points())
    with pytest.raises(ValueError, match="call fit"):
        new.predict(X, X)
    with pytest.raises(ValueError, match="pairs of one class and of two"):
        new.fit(X[:4], LABELS[:4])
    with pytest.raises(ValueError, match="pairs of one class and of two"):
        new.fit(X[::4], LABELS[::4])
    counts = np.unique(LABELS, return_counts=True)[1]
    num_pairs = math.comb(len(X), 2) - sum(math.comb(n, 2) for n in counts)
    with pytest.raises(ValueError, match="the smallest is") as raised:
        new.fit(X, LABELS, 1e-4)
    (smallest,) = re.findall(r"smallest is ([\d.]+)\. ", str(raised.value))
    assert 1 / num_pairs <= float(smallest) < 1.01 / num_pairs
    Verifier(points()).fit(X, LABELS, float(smallest))  # as it says
    Verifier(points()).fit(X, LABELS, 1 / num_pairs)
    with pytest.raises(ValueError, match="between 0 and 1"):
        new.fit(X, LABELS, 2.0)
    rng, many = np.random.default_rng(0), np.repeat(np.arange(300), 2)
    with pytest.raises(ValueError, match="At most 50000 pairs are drawn"):
        new.fit(rng.normal(size=(600, 2)).astype("float32"), many, 1e-5)
    assert new.threshold_ is None
    with pytest.raises(ValueError, match="same length"):
        verifier.predict(X[:2], X)


def test_scores_that_are_cut_off_are_refused():
    """Squares of 1e20 exceed float32; no pair could be told from others."""
    for scale in (1e19, 1e25):
        with pytest.raises(
            ValueError, match="largest float32; .* Scale them d"
        ):
            Verifier(points()).fit(X * np.float32(scale), LABELS, 0.05)
    large = Verifier(points()).fit(X * np.float32(2.0**58), LABELS, 0.05)
    plain = Verifier(points()).fit(X, LABELS, 0.05)
    assert large.threshold_ == pytest.approx(2.0**116 * plain.threshold_)
