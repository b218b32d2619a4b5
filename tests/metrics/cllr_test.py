import math

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from embeddings_tf.metrics import TrialHistogram
from embeddings_tf.metrics import cllr
from embeddings_tf.metrics import min_cllr


def gaussian_trials(n=300, gap=1.0, seed=0, grid=None):
    rng = np.random.default_rng(seed)
    is_target = rng.random(n) < 0.3
    is_target[:2] = True, False
    scores = rng.normal(size=n) + gap * is_target
    return scores if grid is None else np.round(scores / grid), is_target


def cost_by_loop(ratios, is_target):
    costs = {True: [], False: []}
    for ratio, target in zip(ratios, is_target, strict=True):
        odds = math.exp(-ratio) if target else math.exp(ratio)
        costs[bool(target)].append(math.log2(1 + odds))
    return (np.mean(costs[True]) + np.mean(costs[False])) / 2


def pooled(scores, is_target):
    """llreval's steps: pool adjacent violators, then log-likelihood ratios.

    Trials of equal scores start as one pool. Two neighbouring pools are merged
    while the first one has the larger share of targets.
    """
    pools = []
    for score in sorted(set(scores)):
        targets = int(np.sum(is_target[scores == score]))
        pools.append([targets, int(np.sum(scores == score))])
        while len(pools) > 1 and (
            pools[-2][0] * pools[-1][1] >= pools[-1][0] * pools[-2][1]
        ):
            targets, trials = pools.pop()
            pools[-1][0] += targets
            pools[-1][1] += trials
    num_targets = int(np.sum(is_target))
    prior = num_targets / (len(is_target) - num_targets)
    cost = 0.0
    for targets, trials in pools:
        nontargets = trials - targets
        if targets and nontargets:
            ratio = math.log(targets / nontargets) - math.log(prior)
            cost += targets / num_targets * math.log2(1 + math.exp(-ratio))
            cost += (
                nontargets
                / (len(is_target) - num_targets)
                * math.log2(1 + math.exp(ratio))
            )
    return cost / 2


@pytest.mark.parametrize("grid", [None, 0.25])
@pytest.mark.parametrize("seed", range(5))
def test_against_loops(grid, seed):
    scores, is_target = gaussian_trials(grid=grid, seed=seed)
    assert cllr(scores, is_target) == pytest.approx(
        cost_by_loop(scores, is_target)
    )
    assert min_cllr(scores, is_target) == pytest.approx(
        pooled(scores, is_target)
    )


def test_true_ratios_of_gaussians_are_close_to_the_minimum():
    """Scores N(+-2, 2^2) are their own log-likelihood ratios."""
    rng = np.random.default_rng(0)
    is_target = np.arange(40_000) % 2 == 0
    scores = 2 * rng.normal(size=40_000) + np.where(is_target, 2, -2)
    minimum = min_cllr(scores, is_target)
    assert minimum <= cllr(scores, is_target) < minimum + 0.005
    assert cllr(3 * scores, is_target) > minimum + 0.1
    assert min_cllr(3 * scores + 7, is_target) == pytest.approx(minimum)


def test_no_monotone_calibration_is_cheaper():
    scores, is_target = gaussian_trials(gap=2.0)
    fitted = IsotonicRegression(out_of_bounds="clip").fit(scores, is_target)
    share = np.clip(fitted.predict(scores), 1e-9, 1 - 1e-9)
    prior = np.mean(is_target)
    best = np.log(share / (1 - share)) - np.log(prior / (1 - prior))
    minimum = min_cllr(scores, is_target)
    assert cllr(best, is_target) == pytest.approx(minimum, abs=1e-6)
    for slope in (0.5, 1.0, 2.0, 4.0):
        for offset in (-2.0, -1.0, 0.0):
            assert cllr(slope * scores + offset, is_target) > minimum


def test_infinite_ratios():
    assert cllr([np.inf, -np.inf], [1, 0]) == 0
    assert cllr([-np.inf, 0.0], [1, 0]) == np.inf
    assert cllr([0.0, np.inf], [1, 0]) == np.inf
    # Costs of 1,000 nats, whose exponentials overflow.
    assert cllr([-1000.0, 1000.0], [1, 0]) == pytest.approx(1000 / math.log(2))
    assert min_cllr([np.inf, -np.inf, 0.0], [1, 0, 0]) == 0


@pytest.mark.parametrize("num_bits", [10, 12, 16])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 30.0])
def test_histogram_bounds_hold(num_bits, scale):
    for n in (4, 30, 1000):
        for shift in (-3.0, 0.0, 3.0):
            scores, is_target = gaussian_trials(n)
            scores = (scale * scores + shift).astype(np.float32)
            histogram = TrialHistogram(num_bits)
            for block in np.array_split(np.arange(n), 3):
                histogram.update(scores[block], is_target[block])
            value, bound = histogram.cllr()
            assert abs(value - cllr(scores, is_target)) <= bound + 1e-9
            value, bound = histogram.min_cllr()
            difference = value - min_cllr(scores, is_target)
            assert -1e-9 <= difference <= bound + 1e-9


def test_histogram_bound_is_small_and_reached():
    scores, is_target = gaussian_trials(100_000)
    histogram = TrialHistogram()
    histogram.update(scores, is_target)
    assert histogram.cllr()[1] < 1e-3
    assert histogram.min_cllr()[1] < 1e-2
    # All scores share a bin, in the best order.
    histogram = TrialHistogram(12)
    histogram.update([1.2, 1.2 + 1e-6], [False, True])
    assert histogram.min_cllr() == (1.0, 1.0)


def test_histogram_of_infinite_ratios():
    histogram = TrialHistogram()
    histogram.update([-np.inf, np.inf], [False, True])
    assert histogram.cllr() == (0.0, 0.0)
    histogram.update([-np.inf], [True])
    assert histogram.cllr() == (np.inf, 0.0)


@pytest.mark.parametrize("measure", [cllr, min_cllr])
@pytest.mark.parametrize(
    ("scores", "is_target"),
    [([1.0, np.nan], [1, 0]), ([1.0], [1]), ([1.0, 2.0], [0, 0]), ([], [])],
)
def test_refused(measure, scores, is_target):
    with pytest.raises(ValueError, match=r"is_target|must|received"):
        measure(scores, is_target)
