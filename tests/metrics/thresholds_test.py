"""Thresholds at a rate, their errors, and the rate of unknown inputs."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.metrics import bootstrap_interval
from embeddings_tf.metrics import conformal_threshold
from embeddings_tf.metrics import equal_error_rate
from embeddings_tf.metrics import error_rates
from embeddings_tf.metrics import learn_then_test
from embeddings_tf.metrics import out_of_distribution_fpr
from embeddings_tf.metrics import threshold_at_false_accept_rate


def trials(dtype=np.float64, grid=0.1):
    rng = np.random.default_rng(0)
    is_target = rng.random(500) < 0.3
    scores = np.round((rng.normal(size=500) + is_target) / grid) * grid
    return scores.astype(dtype), is_target


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rate", [0.001, 0.01, 0.29, 0.5, 0.999])
def test_lowest_threshold_with_the_rate(dtype, rate):
    scores, is_target = trials(dtype)
    threshold = threshold_at_false_accept_rate(scores, is_target, rate)
    nontargets = scores[~is_target]
    assert np.mean(nontargets >= threshold) <= rate
    lower = scores[scores < threshold]
    assert np.mean(nontargets >= lower.max()) > rate
    assert error_rates(scores, is_target, threshold) == (
        np.mean(nontargets >= threshold),
        np.mean(scores[is_target] < threshold),
    )


def test_a_whole_number_of_nontargets_is_accepted():
    scores = np.append(np.arange(100.0), 200)
    is_target = np.append(np.zeros(100, bool), True)
    for accepted in range(1, 100):
        threshold = threshold_at_false_accept_rate(
            scores, is_target, accepted / 100
        )
        assert np.sum(scores[:100] >= threshold) == accepted


def test_interval_over_classes():
    """With separate trials per class, it is the quantile of a loop."""
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(30), 20)
    is_target = np.tile(np.arange(20) < 5, 30)
    scores = rng.normal(size=600) + is_target + rng.normal(size=30)[classes]
    measure = functools.partial(
        threshold_at_false_accept_rate, false_accept_rate=0.1
    )
    found = bootstrap_interval(measure, scores, is_target, classes)
    values = []
    for _ in range(1000):
        rows = np.concatenate(
            [np.flatnonzero(classes == c) for c in rng.integers(0, 30, 30)]
        )
        values.append(measure(scores[rows], is_target[rows]))
    expected = np.quantile(values, [0.025, 0.975])
    assert found == pytest.approx(expected, abs=0.1)


def test_infinite_scores_are_refused():
    with pytest.raises(ValueError, match="finite"):
        threshold_at_false_accept_rate([1.0, np.inf], [1, 0], 0.5)
    with pytest.raises(ValueError, match="false_accept_rate"):
        threshold_at_false_accept_rate([1.0, 0.0], [1, 0], 0)
    with pytest.raises(ValueError, match="threshold"):
        error_rates([1.0, 0.0], [1, 0], np.nan)


def test_large_integers_are_compared_exactly():
    """float64 would merge them."""
    scores = [2**53, 2**53 + 1, 2**53 + 1, 2**53 + 2]
    threshold = equal_error_rate(scores, [0, 1, 0, 1])[1]
    assert error_rates(scores, [0, 1, 0, 1], threshold) == (0.5, 0.0)
    assert error_rates([1, 2, 3, 4], [0, 1, 0, 1], 2.5) == (0.5, 0.5)


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.95])
def test_fpr_against_a_loop(rate):
    rng = np.random.default_rng(0)
    known = np.round(rng.normal(size=200), 1)
    unknown = np.round(rng.normal(size=300) + 1, 1)
    for threshold in sorted(known):
        if np.mean(known <= threshold) >= rate:
            break
    assert out_of_distribution_fpr(known, unknown, rate) == np.mean(
        unknown <= threshold
    )


def test_fpr_asks_for_no_more_than_the_share():
    for n in (20, 40, 100, 1000):
        known = np.arange(n)
        needed = n * 95 // 100
        assert out_of_distribution_fpr(known, known) == needed / n


def test_fpr_refuses():
    with pytest.raises(ValueError, match="unknown"):
        out_of_distribution_fpr([0.1], [np.nan])
    with pytest.raises(ValueError, match="true_positive_rate"):
        out_of_distribution_fpr([0.1], [0.2], 1)


def test_a_threshold_above_all_float32_scores_accepts_none():
    scores = np.array([1, 1, 0.2], "float32")
    threshold = np.nextafter(1.0, 2.0)  # 1 in float32
    assert error_rates(scores, [1, 0, 0], threshold) == (0.0, 1.0)


@pytest.mark.parametrize("dtype", [np.float16, tf.bfloat16.as_numpy_dtype])
@pytest.mark.parametrize("rule", ["empirical", "conformal", "tested"])
def test_thresholds_of_half_precision_hold_in_half_precision(rule, dtype):
    """NumPy rounds a plain number to the type of the scores it meets."""
    rng = np.random.default_rng(0)
    scores = (1 - np.abs(rng.normal(0, 0.002, 4000))).astype(dtype)
    if rule == "empirical":
        is_target = np.zeros(4000, bool)
        is_target[:10] = True
        threshold = threshold_at_false_accept_rate(scores, is_target, 0.01)
        assert np.mean(scores[~is_target] >= threshold) <= 0.01
    elif rule == "conformal":
        found = conformal_threshold(
            scores, np.arange(4000), false_accept_rate=0.01
        )
        accepted = np.mean(scores >= found["threshold"])
        assert accepted == found["calibration_rate"] <= 0.01
    else:
        confidence = np.repeat([0.9, 0.95], [50, 200]).astype(dtype)
        found = learn_then_test(
            confidence,
            np.zeros(250, bool),
            thresholds=[0.9, 0.95],
            error_rate=0.1,
        )
        accepted = confidence >= found["threshold"]
        assert accepted.mean() == found["accepted"]
        # The p-value is of the answers that the threshold accepts.
        expected = 0.9 ** np.array([200, 250])
        np.testing.assert_allclose(found["p_value"], expected)


def test_a_threshold_above_zero_holds_in_tensorflow():
    """A subnormal threshold would be 0 there."""
    scores = np.array([0.0, 0.0, 1.0])
    found = [
        threshold_at_false_accept_rate(scores, [0, 0, 1], 0.1),
        conformal_threshold(scores, [0, 1, 2], 0.5)["threshold"],
    ]
    for threshold in found:
        accepted = tf.constant(scores) >= tf.constant(threshold, tf.float64)
        assert accepted.numpy().tolist() == [False, False, True]
        assert (scores >= threshold).tolist() == [False, False, True]


def test_thresholds_beyond_half_precision():
    """A warning would fail the test."""
    scores = np.array([65504, 0, 1], np.float16)
    threshold = threshold_at_false_accept_rate(scores, [0, 0, 1], 0.1)
    assert threshold == np.inf
    assert error_rates(scores, [0, 0, 1], threshold) == (0.0, 1.0)
    found = conformal_threshold(scores, [0, 1, 2], 0.3)
    assert found["threshold"] == np.inf and found["calibration_rate"] == 0
    confidence = np.ones(100, np.float16)
    found = learn_then_test(
        confidence, np.zeros(100, bool), thresholds=[0.5, 1e6], error_rate=0.1
    )
    assert found["thresholds"].tolist() == [np.inf, 0.5]
    np.testing.assert_allclose(found["p_value"], [1, 0.9**100])


@pytest.mark.parametrize("dtype", [int, np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("infinity", [np.inf, np.float32(np.inf)])
def test_infinite_thresholds(dtype, infinity):
    scores = np.array([3, 2, 1], dtype)
    assert error_rates(scores, [1, 0, 0], infinity) == (0.0, 1.0)
    assert error_rates(scores, [1, 0, 0], -infinity) == (1.0, 0.0)
