import tracemalloc

import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.metrics import TrialHistogram
from embeddings_tf.metrics import equal_error_rate
from embeddings_tf.metrics import min_dcf
from embeddings_tf.metrics import roc_auc
from embeddings_tf.metrics import trial_histogram

LIMITS = np.finfo(np.float32)


def gaussian_trials(n, gap=1.0, scale=1.0, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    is_target = rng.random(n) < 0.3
    is_target[:2] = True, False
    scores = scale * (rng.normal(size=n) + gap * is_target) + shift
    return scores.astype(np.float32), is_target


def histogram_of(scores, is_target, num_bits=20):
    histogram = TrialHistogram(num_bits)
    histogram.update(scores, is_target)
    return histogram


def results(histogram):
    return (
        histogram.equal_error_rate(),
        histogram.roc_auc(),
        histogram.min_dcf(),
        histogram.min_dcf(0.3, 2, 5),
    )


def differences(histogram, scores, is_target):
    """Pairs of the error of a metric and its stated bound."""
    eer, _, error = histogram.equal_error_rate()
    yield eer - equal_error_rate(scores, is_target)[0], error
    auc, error = histogram.roc_auc()
    yield auc - roc_auc(scores, is_target), error
    for prior in (0.01, 0.5):
        cost, error = histogram.min_dcf(prior)
        difference = cost - min_dcf(scores, is_target, prior)
        assert difference >= -1e-12
        yield difference, error


@pytest.mark.parametrize("num_bits", [10, 12, 16])
@pytest.mark.parametrize("n", [4, 30, 1000])
def test_bounds_hold(num_bits, n):
    for seed, scale in enumerate((1e-30, 1e-3, 1.0, 1e30)):
        for shift in (-3.0, 0.0, 3.0):
            trials = gaussian_trials(n, 1.0, scale, shift * scale, seed)
            histogram = histogram_of(*trials, num_bits)
            for difference, error in differences(histogram, *trials):
                assert abs(difference) <= error + 1e-12


def test_bounds_are_reached():
    # All scores share a bin, in both possible orders.
    is_target = np.arange(20) < 10
    for order in (1, -1):
        scores = 1.2 - order * np.arange(20) * 1e-6
        histogram = histogram_of(scores, is_target, 12)
        eer = equal_error_rate(scores, is_target)[0]
        assert eer == (0 if order == 1 else 1)
        assert histogram.equal_error_rate()[::2] == (0.5, 0.5)
        assert histogram.roc_auc() == (0.5, 0.5)
        assert histogram.min_dcf(0.5) == (1, 1)


def test_bound_shrinks_with_the_bins():
    # One bit halves the bins, for trials that are dense in all bins.
    trials = gaussian_trials(200_000)
    errors = [
        histogram_of(*trials, num_bits).roc_auc()[1] for num_bits in (11, 13)
    ]
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)


def test_a_million_trials():
    scores, is_target = gaussian_trials(10**6, gap=2.0, shift=-20.0, scale=7.0)
    histogram = TrialHistogram()
    for block in np.array_split(np.arange(10**6), 13):
        histogram.update(scores[block], is_target[block])
    for difference, error in differences(histogram, scores, is_target):
        assert abs(difference) <= error < 1e-3
    assert histogram.equal_error_rate()[2] < 1e-4
    assert histogram.roc_auc()[1] < 1e-4


def test_exact_where_bins_hold_one_score():
    # Nine bits contain the sign and powers of two, one more bit the halves.
    rng = np.random.default_rng(0)
    values = [-np.inf, -3.0, -1.0, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0, np.inf]
    for _ in range(100):
        scores = rng.choice(values, 12)
        is_target = rng.random(12) < 0.5
        is_target[:2] = True, False
        histogram = histogram_of(scores, is_target, 10)
        eer, threshold, error = histogram.equal_error_rate()
        expected, score = equal_error_rate(scores, is_target)
        assert eer == expected
        assert ((scores >= threshold) == (scores >= score)).all()
        assert histogram.roc_auc()[0] == roc_auc(scores, is_target)
        assert histogram.min_dcf()[0] == min_dcf(scores, is_target)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_threshold_has_the_errors_that_were_counted(dtype):
    rng = np.random.default_rng(0)
    limits = np.float32(1 + np.arange(-8, 8) / 8)  # limits of bins
    for _ in range(50):
        # On, just below and just above a limit.
        scores = rng.choice(limits, 40).astype(dtype)
        scores = np.nextafter(
            scores, scores + rng.integers(-1, 2, 40), dtype=dtype
        )
        is_target = rng.random(40) < 0.5
        histogram = histogram_of(scores, is_target, 12)
        eer, threshold, error = histogram.equal_error_rate()
        false_alarm = np.mean(scores[~is_target] >= threshold)
        miss = np.mean(scores[is_target] < threshold)
        # The point is an end of the segment that contains the EER.
        assert min(false_alarm, miss) <= eer <= max(false_alarm, miss)
        for difference, error in differences(histogram, scores, is_target):
            assert abs(difference) <= error + 1e-12


def test_float64_is_not_rounded_over_a_limit():
    scores, is_target = [1.0, 1 - 1e-12], [True, False]
    assert np.float32(scores[1]) == 1
    histogram = histogram_of(scores, is_target)
    assert histogram.equal_error_rate() == (0.0, 1.0, 0.0)
    # Beyond the range of float32: not inf, which is always accepted.
    scores = [1e300, LIMITS.max, -1e300, -np.inf]
    histogram = histogram_of(scores, [True, True, False, False])
    eer, threshold, error = histogram.equal_error_rate()
    assert (eer, error) == (0.0, 0.0)
    assert 0 < threshold <= LIMITS.max
    # -1e300 shares the bin of -inf, so its cost has no bound.
    assert histogram_of([-1e300, 5.0], [True, False]).cllr() == (np.inf, np.inf)
    nontarget = histogram_of([-1e300, 5.0], [False, True]).cllr()[0]
    assert nontarget == pytest.approx(np.log2(1 + np.exp(-5)) / 2, rel=1e-3)
    # A tiny score differs from 0: it is lower if negative.
    histogram = histogram_of([0.0, -1e-300], [True, False])
    assert histogram.equal_error_rate() == (0.0, 0.0, 0.0)


def test_bins_are_ordered_and_begin_at_their_limit():
    ends = [LIMITS.max, LIMITS.tiny, LIMITS.smallest_subnormal]
    scores = np.array([0, np.inf, -np.inf, *ends, *np.negative(ends)], "f4")
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 100_000, dtype=np.uint32).view(np.float32)
    scores = np.sort(np.concatenate([scores, bits[~np.isnan(bits)]]))
    ordered = trial_histogram._ordered(scores)
    assert ordered.dtype == np.uint32
    steps = np.diff(ordered.astype(np.int64))
    assert ((steps > 0) == (np.diff(scores.astype(np.float64)) > 0)).all()
    np.testing.assert_array_equal(trial_histogram._score(ordered), scores)
    shift = np.uint32(12)
    limits = trial_histogram._score(ordered >> shift << shift)
    assert (limits <= scores).all()
    ordinary = np.abs(scores) >= LIMITS.tiny * 2
    ordinary &= np.abs(scores) < LIMITS.max / 2
    limits, scores = limits[ordinary], scores[ordinary]
    ratio = np.abs(limits.astype(float) / scores)
    assert (np.maximum(ratio, 1 / ratio) <= 1 + 2.0 ** (9 - 20)).all()


def test_blocks_and_order_do_not_matter():
    scores, is_target = gaussian_trials(5000)
    expected = results(histogram_of(scores, is_target))
    rng = np.random.default_rng(0)
    for num_blocks in (1, 7, 200):
        histogram = TrialHistogram()
        order = rng.permutation(5000)
        cuts = np.sort(rng.integers(0, 5000, num_blocks))  # some are empty
        for block in np.split(order, cuts):
            histogram.update(scores[block], is_target[block])
        assert results(histogram) == expected
    assert results(histogram) == expected  # reading changes nothing


def test_tensors_and_empty_blocks():
    scores, is_target = gaussian_trials(500)
    histogram = TrialHistogram()
    histogram.update(tf.constant(scores), tf.constant(is_target))
    histogram.update([], [])
    histogram.update(tf.zeros([0]), tf.zeros([0], tf.bool))
    assert results(histogram) == results(histogram_of(scores, is_target))


def test_plain_floats():
    for found in results(histogram_of(*gaussian_trials(50))):
        assert all(type(value) is float for value in found)


def test_memory_is_fixed():
    size = 10**5
    scores, is_target = gaussian_trials(size)
    tracemalloc.start()
    histogram = TrialHistogram()
    for _ in range(20):
        histogram.update(scores, is_target)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * 2**20 + 64 * size


@pytest.mark.parametrize(
    "scores, is_target, message",
    [
        ([0.5], [0, 1], "2 rows of `is_target`"),
        ([], [1], "`scores` .* not be empty"),
        ([0.5, np.nan], [0, 1], r"`scores` must not be NaN; .* \(1,\)"),
        ([[0.1], [0.5]], [0, 1], r"`scores` .* shape \(2, 1\)"),
        ([0.1, 0.5], [0, 2], "`is_target` .* received 2"),
    ],
)
def test_refused_blocks_are_not_counted(scores, is_target, message):
    trials = gaussian_trials(50)
    histogram = histogram_of(*trials)
    with pytest.raises(ValueError, match=message):
        histogram.update(scores, is_target)
    assert results(histogram) == results(histogram_of(*trials))


def test_too_many_trials(monkeypatch):
    monkeypatch.setattr(trial_histogram, "MOST_PAIRS", 6)
    histogram = histogram_of([1.0, 2.0, 3.0], [0, 1, 1])
    histogram.update([0.5, 0.6], [0, 0])
    expected = results(histogram)
    with pytest.raises(ValueError, match="to 2 targets and 4 nontargets"):
        histogram.update([0.5], [0])
    assert results(histogram) == expected


def test_the_most_pairs_do_not_overflow():
    # The largest number of pairs that can be counted, without the scores.
    histogram = TrialHistogram(10)
    number = 2**31 - 1
    assert number**2 <= trial_histogram.MOST_PAIRS
    histogram._counts[:, [100, 200]] = [[number - 5, 5], [3, number - 3]]
    wrong, tied = 5 * 3, (number - 5) * 3 + 5 * (number - 3)
    auc, error = histogram.roc_auc()
    assert auc == pytest.approx(1 - (wrong + tied / 2) / number**2, abs=1e-15)
    assert error == pytest.approx(tied / 2 / number**2, rel=1e-12)
    # From (0, number) to (5, 3): 5 x = number - (number - 3) x.
    eer, _, _ = histogram.equal_error_rate()
    assert eer == pytest.approx(5 / (number + 2), rel=1e-12)


@pytest.mark.parametrize("num_bits", [0, 9, 27, 20.0, "20"])
def test_num_bits(num_bits):
    with pytest.raises(ValueError, match="num_bits"):
        TrialHistogram(num_bits)


def test_one_kind_of_trials():
    for is_target in (True, False):
        histogram = histogram_of([0.5], [is_target])
        for measure in (
            "equal_error_rate",
            "roc_auc",
            "min_dcf",
            "cllr",
            "min_cllr",
        ):
            with pytest.raises(ValueError, match="both kinds of trials"):
                getattr(histogram, measure)()
    with pytest.raises(ValueError, match="0 target and 0 nontarget"):
        TrialHistogram().roc_auc()


def test_cost_arguments():
    scores, is_target = gaussian_trials(200)
    histogram = histogram_of(scores, is_target, 26)
    for arguments in ((0.2,), (0.2, 3), (0.2, 3, 7)):
        assert histogram.min_dcf(*arguments)[0] == pytest.approx(
            min_dcf(scores, is_target, *arguments)
        )
    with pytest.raises(ValueError, match="target_prior"):
        histogram.min_dcf(2)


@pytest.mark.parametrize(
    "scores",
    [
        np.int64([2**62 - 1, 2**62, -(2**62) - 1, -(2**62), 5, -5]),
        np.int64([2**63 - 1, -(2**63), 2**53 + 1, -(2**53) - 1, 0, 1]),
        np.uint64([2**64 - 1, 2**63 - 1, 2**63, 2**53 + 1, 0, 1]),
    ],
)
def test_large_integers_are_rounded_down(scores):
    """The counts at a threshold are the trials that it accepts."""
    for target in range(len(scores)):
        is_target = np.arange(len(scores)) == target
        histogram = histogram_of(scores, is_target, 26)
        rate, threshold, error = histogram.equal_error_rate()
        accepted = np.array([int(score) >= threshold for score in scores])
        miss = np.mean(~accepted[is_target])
        false_alarm = np.mean(accepted[~is_target])
        assert min(miss, false_alarm) - 1e-12 <= rate + error
        assert rate - error <= max(miss, false_alarm) + 1e-12
        exact = equal_error_rate(scores, is_target)[0]
        assert abs(rate - exact) <= error + 1e-12
