import numpy as np
import pytest

from embeddings_tf.scoring.conformal_threshold import conformal_threshold


def risk(scores, ids, threshold):
    """(1 + sum over classes of accepted shares) / (classes + 1)."""
    shares = [np.mean(scores[ids == c] >= threshold) for c in np.unique(ids)]
    return (1 + sum(shares)) / (len(shares) + 1)


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5, 0.9])
def test_the_smallest_threshold_with_the_promise(rate):
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 15, size=200)
    scores = np.round(rng.normal(size=200) + ids / 10, 1)  # with ties
    threshold = conformal_threshold(scores, ids, rate)
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
        threshold = conformal_threshold(scores[:9].ravel(), ids, 0.2)
        rates.append(np.mean(scores[9] >= threshold))
    error = np.std(rates) / np.sqrt(len(rates))
    assert np.mean(rates) <= 0.2 + 3 * error
    assert np.mean(rates) >= 0.2 - 0.1 - 3 * error  # at most 1 / (N + 1) less


def test_one_example_per_class_is_split_conformal():
    """The threshold is just above a quantile of the scores."""
    scores = np.arange(19.0)
    threshold = conformal_threshold(scores, np.arange(19), 0.05)
    assert np.sum(scores >= threshold) == 0
    threshold = conformal_threshold(scores, np.arange(19), 0.1)
    assert scores[scores >= threshold].tolist() == [18.0]


def test_a_rate_that_cannot_be_promised_is_refused():
    with pytest.raises(ValueError, match="at least 19 classes"):
        conformal_threshold(np.arange(18.0), np.arange(18), 0.05)
