import numpy as np
import pytest

from embeddings_tf.metrics import conformal_threshold


def risk(scores, ids, threshold):
    """(1 + sum over classes of accepted shares) / (classes + 1)."""
    shares = [np.mean(scores[ids == c] >= threshold) for c in np.unique(ids)]
    return (1 + sum(shares)) / (len(shares) + 1)


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5, 0.9])
def test_the_smallest_threshold_with_the_promise(rate):
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 15, size=200)
    scores = np.round(rng.normal(size=200) + ids / 10, 1)  # with ties
    threshold = conformal_threshold(scores, ids, rate)["threshold"]
    assert risk(scores, ids, threshold) <= rate
    lower = scores[scores < threshold].max()
    assert risk(scores, ids, lower) > rate


def test_promised_rates_are_reached_on_average_over_classes():
    rng = np.random.default_rng(0)
    rates = []
    for _ in range(2000):
        # Classes differ in how close they are to the enrolled ones.
        scores = rng.normal(size=(10, 1)) + 0.5 * rng.normal(size=(10, 5))
        ids = np.repeat(np.arange(9), 5)
        threshold = conformal_threshold(scores[:9].ravel(), ids, 0.2)[
            "threshold"
        ]
        rates.append(np.mean(scores[9] >= threshold))
    error = np.std(rates) / np.sqrt(len(rates))
    assert np.mean(rates) <= 0.2 + 3 * error
    assert np.mean(rates) >= 0.2 - 0.1 - 3 * error  # at most 1 / (N + 1) less


def test_missing_classes_are_no_class():
    with pytest.raises(ValueError, match="missing values.* in place 2"):
        conformal_threshold([1.0, 2.0, 3.0], ["a", "b", np.nan], 0.5)


def test_one_example_per_class_is_split_conformal():
    """The threshold is just above a quantile of the scores."""
    scores = np.arange(19.0)
    threshold = conformal_threshold(scores, np.arange(19), 0.05)["threshold"]
    assert np.sum(scores >= threshold) == 0
    threshold = conformal_threshold(scores, np.arange(19), 0.1)["threshold"]
    assert scores[scores >= threshold].tolist() == [18.0]


def test_a_rate_that_cannot_be_promised_is_refused():
    with pytest.raises(ValueError, match="at least 19 classes"):
        conformal_threshold(np.arange(18.0), np.arange(18), 0.05)


def test_rounding_accepts_no_more_float32_scores():
    scores = np.array([0.1, 0.2, 0.3], np.float32)
    found = conformal_threshold(scores, ["a", "b", "c"], 0.25)
    assert not np.any(scores >= found["threshold"])
    assert found["calibration_rate"] == 0
    assert found["num_classes"] == 3


def test_classes_count_equally_whatever_their_size():
    scores = np.concatenate([np.full(90, 2.0), np.arange(4) / 10])
    classes = np.append(np.zeros(90, int), np.arange(1, 5))
    # Class 0 alone makes (1 + 1) / 6, and one more class 3 / 6.
    found = conformal_threshold(scores, classes, 0.4)
    assert 0.3 < found["threshold"] <= 2
    assert found["calibration_rate"] == pytest.approx(1 / 5)


@pytest.mark.parametrize(
    "arguments",
    [
        {"scores": [0.1, np.inf, 0.2]},
        {"scores": [0.1, np.nan, 0.2]},
        {"scores": [0.1, 0.2]},
        {"scores": []},
        {"classes": [0.5, 1.5, 2.5]},
        {"classes": [[0, 1, 2]]},
        {"false_accept_rate": 0},
        {"false_accept_rate": 1},
        {"false_accept_rate": float("nan")},
    ],
)
def test_refused(arguments):
    valid = {
        "scores": [0.1, 0.3, 0.2],
        "classes": [0, 1, 2],
        "false_accept_rate": 0.5,
    }
    with pytest.raises(ValueError, match=next(iter(arguments))):
        conformal_threshold(**{**valid, **arguments})
