import functools
import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import tensorflow as tf
from scipy import interpolate
from scipy import optimize
from scipy import stats
from sklearn import metrics as sklearn_metrics

from embeddings_tf.metrics import bootstrap_interval
from embeddings_tf.metrics import det_curve
from embeddings_tf.metrics import equal_error_rate
from embeddings_tf.metrics import min_dcf
from embeddings_tf.metrics import roc_auc

MEASURES = (equal_error_rate, roc_auc, min_dcf, det_curve)


def gaussian_trials(n=300, share=0.3, gap=1.0, seed=0, grid=None):
    """Scores of unit variance, rounded to `grid` for ties."""
    rng = np.random.default_rng(seed)
    is_target = rng.random(n) < share
    is_target[:2] = True, False
    scores = rng.normal(size=n) + gap * is_target
    return scores if grid is None else np.round(scores / grid), is_target


def few_trials():
    """Small lists of every kind: ties, both orders, infinite scores."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = int(rng.integers(2, 12))
        scores = rng.choice([-np.inf, -2.0, -0.0, 0.0, 0.5, 3.0, np.inf], n)
        is_target = rng.random(n) < 0.5
        is_target[:2] = True, False
        yield scores, is_target


def errors_at(threshold, scores, is_target):
    """Fractions of false alarms and misses, counted one by one."""
    trials = list(zip(scores, is_target, strict=True))
    nontargets = [score for score, target in trials if not target]
    targets = [score for score, target in trials if target]
    return (
        Fraction(sum(s >= threshold for s in nontargets), len(nontargets)),
        Fraction(sum(not s >= threshold for s in targets), len(targets)),
    )


def expected_equal_error_rate(scores, is_target):
    """Walks along the operating points until they cross the diagonal."""
    false_alarm, miss = Fraction(0), Fraction(1)
    for threshold in sorted(set(scores), reverse=True):
        found = errors_at(threshold, scores, is_target)
        if found[0] >= found[1]:
            rise = (found[0] - false_alarm) - (found[1] - miss)
            share = (miss - false_alarm) / rise
            return float(false_alarm + share * (found[0] - false_alarm))
        false_alarm, miss = found
    raise AssertionError("accepting everything has no misses")


class TestEqualErrorRate:
    def test_against_loops(self):
        for scores, is_target in few_trials():
            eer, _ = equal_error_rate(scores, is_target)
            assert eer == expected_equal_error_rate(scores, is_target)

    def test_threshold_is_the_score_of_least_gap(self):
        for scores, is_target in few_trials():
            _, threshold = equal_error_rate(scores, is_target)
            gaps = {}
            for score in sorted(set(scores)):
                false_alarm, miss = errors_at(score, scores, is_target)
                gaps[score] = abs(false_alarm - miss)
            best = min(gaps.values())
            assert threshold == min(s for s in gaps if gaps[s] == best)

    @pytest.mark.parametrize("grid", [None, 0.5, 2.0])
    @pytest.mark.parametrize("gap", [-1.0, 0.0, 1.0, 4.0])
    def test_against_scikit_learn(self, gap, grid):
        scores, is_target = gaussian_trials(gap=gap, grid=grid)
        false_alarm, hit, _ = sklearn_metrics.roc_curve(
            is_target, scores, drop_intermediate=False
        )
        curve = interpolate.interp1d(false_alarm, hit)
        expected = optimize.brentq(lambda x: 1 - x - curve(x), 0, 1, xtol=1e-14)
        assert equal_error_rate(scores, is_target)[0] == pytest.approx(
            expected, abs=1e-9
        )

    def test_near_the_mean_at_the_nearest_point(self):
        scores, is_target = gaussian_trials()
        false_alarm, hit, _ = sklearn_metrics.roc_curve(
            is_target, scores, drop_intermediate=False
        )
        gap = np.abs(1 - hit - false_alarm)
        nearest = np.argmin(gap)
        mean = (1 - hit[nearest] + false_alarm[nearest]) / 2
        eer, _ = equal_error_rate(scores, is_target)
        assert abs(eer - mean) <= gap[nearest] / 2 + 1e-12

    @pytest.mark.parametrize("gap", [0.0, 1.0, 2.0])
    def test_two_gaussians(self, gap):
        # Both errors are Phi(-gap / 2) at the threshold gap / 2. The standard
        # deviation of each rate is at most 1 / (2 sqrt(n)).
        n = 100_000
        scores, is_target = gaussian_trials(2 * n, 0.5, gap)
        eer, threshold = equal_error_rate(scores, is_target)
        expected = stats.norm.cdf(-gap / 2)
        assert eer == pytest.approx(expected, abs=5 / (2 * math.sqrt(n)))
        slope = stats.norm.pdf(gap / 2)
        assert threshold == pytest.approx(
            gap / 2, abs=5 / (2 * slope * math.sqrt(n))
        )

    def test_best_chance_and_worst(self):
        is_target = np.arange(10) >= 5
        assert equal_error_rate(np.arange(10), is_target) == (0.0, 5.0)
        # If all trials are tied, chance decides, and the score is the
        # threshold.
        for score in (-np.inf, 0.3, np.inf):
            same = np.full(10, score)
            assert equal_error_rate(same, is_target) == (0.5, score)
        eer, threshold = equal_error_rate(-np.arange(10), is_target)
        assert eer == 1.0
        assert threshold in (-5.0, -4.0)

    def test_only_the_order_matters(self):
        scores, is_target = gaussian_trials()
        eer, threshold = equal_error_rate(scores, is_target)
        changed = equal_error_rate(np.exp(scores), is_target)
        assert changed == (eer, np.exp(threshold))

    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
    def test_threshold_decides_in_the_dtype_of_the_scores(self, dtype):
        scores, is_target = gaussian_trials()
        scores = scores.astype(dtype)
        eer, threshold = equal_error_rate(scores, is_target)
        false_alarm, miss = errors_at(threshold, scores, is_target)
        assert abs(false_alarm - miss) <= Fraction(1, 50)
        ends = sorted([float(false_alarm), float(miss)])
        assert ends[0] <= eer <= ends[1]

    def test_tensors_and_zeros_and_ones(self):
        scores, is_target = gaussian_trials()
        expected = equal_error_rate(scores, is_target)
        assert (
            equal_error_rate(tf.constant(scores), tf.constant(is_target))
            == equal_error_rate(list(scores), is_target.astype(float))
            == expected
        )
        half = tf.constant(scores, tf.bfloat16)
        assert equal_error_rate(half, is_target) == equal_error_rate(
            tf.cast(half, tf.float32), is_target
        )


class TestRocAuc:
    def test_against_loops(self):
        for scores, is_target in few_trials():
            wins = [
                (t > n) + (t == n) / 2
                for t in scores[is_target]
                for n in scores[~is_target]
            ]
            assert roc_auc(scores, is_target) == sum(wins) / len(wins)

    @pytest.mark.parametrize("grid", [None, 0.5])
    def test_against_scikit_learn(self, grid):
        scores, is_target = gaussian_trials(5000, grid=grid)
        assert roc_auc(scores, is_target) == pytest.approx(
            sklearn_metrics.roc_auc_score(is_target, scores), abs=1e-12
        )

    def test_two_gaussians(self):
        n, gap = 100_000, 1.5
        scores, is_target = gaussian_trials(2 * n, 0.5, gap)
        assert roc_auc(scores, is_target) == pytest.approx(
            stats.norm.cdf(gap / math.sqrt(2)), abs=5 / (2 * math.sqrt(n))
        )


class TestMinDcf:
    @pytest.mark.parametrize(
        "prior, miss_cost, false_alarm_cost",
        [(0.01, 1, 1), (0.5, 1, 1), (0.9, 1, 1), (0.01, 10, 1), (0.3, 1, 7)],
    )
    def test_against_loops(self, prior, miss_cost, false_alarm_cost):
        useless = min(miss_cost * prior, false_alarm_cost * (1 - prior))
        for scores, is_target in few_trials():
            costs = [miss_cost * prior]  # accepts nothing
            for threshold in scores:
                false_alarm, miss = errors_at(threshold, scores, is_target)
                costs.append(
                    miss_cost * prior * miss
                    + false_alarm_cost * (1 - prior) * false_alarm
                )
            assert min_dcf(
                scores, is_target, prior, miss_cost, false_alarm_cost
            ) == pytest.approx(min(costs) / useless, abs=1e-12)

    def test_defaults(self):
        scores, is_target = gaussian_trials(2000, gap=3.0)
        expected = min_dcf(scores, is_target, 0.01, 1, 1)
        assert min_dcf(scores, is_target) == expected
        assert 0 < expected < min_dcf(scores, is_target, 0.001) < 1

    def test_two_gaussians(self):
        # At the best threshold, target_prior times the density of targets
        # equals the density of nontargets times its prior.
        gap, prior = 3.0, 0.1
        best = gap / 2 + math.log((1 - prior) / prior) / gap
        expected = (
            prior * stats.norm.cdf(best - gap)
            + (1 - prior) * stats.norm.sf(best)
        ) / prior
        scores, is_target = gaussian_trials(400_000, 0.5, gap)
        assert min_dcf(scores, is_target, prior) == pytest.approx(
            expected, abs=0.01
        )

    def test_useless_scores_cost_1(self):
        same = np.zeros(10)
        for prior in (0.01, 0.5, 0.99):
            assert min_dcf(same, np.arange(10) < 3, prior) == 1.0

    @pytest.mark.parametrize(
        "arguments, message",
        [
            ({"target_prior": 0}, "`target_prior` .* received 0"),
            ({"target_prior": 1.0}, "`target_prior` .* received 1.0"),
            ({"target_prior": np.nan}, "`target_prior` .* received nan"),
            ({"miss_cost": 0}, "`miss_cost` .* received 0"),
            ({"miss_cost": np.inf}, "`miss_cost` .* received inf"),
            ({"false_alarm_cost": -1}, "`false_alarm_cost` .* received -1"),
        ],
    )
    def test_errors(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            min_dcf(*gaussian_trials(), **arguments)


class TestDetCurve:
    def test_against_loops(self):
        for scores, is_target in few_trials():
            curve = det_curve(scores, is_target)
            thresholds = sorted(set(scores))
            assert curve["threshold"].tolist() == [*thresholds, np.inf]
            for index, threshold in enumerate(thresholds):
                expected = errors_at(threshold, scores, is_target)
                assert curve["false_alarm"][index] == float(expected[0])
                assert curve["miss"][index] == float(expected[1])
            assert (curve["false_alarm"][-1], curve["miss"][-1]) == (0, 1)

    @pytest.mark.parametrize("grid", [None, 0.5])
    def test_against_scikit_learn(self, grid):
        scores, is_target = gaussian_trials(grid=grid)
        false_alarm, miss, threshold = sklearn_metrics.det_curve(
            is_target, scores
        )
        curve = det_curve(scores, is_target)
        # There, points where one error is already 0 are left out.
        part = slice(
            np.flatnonzero(curve["threshold"] == threshold[0])[0], None
        )
        part = slice(part.start, part.start + len(threshold))
        np.testing.assert_allclose(curve["false_alarm"][part], false_alarm)
        np.testing.assert_allclose(curve["miss"][part], miss)
        np.testing.assert_array_equal(curve["threshold"][part], threshold)

    def test_gaussians_give_a_straight_line(self):
        gap = 2.0
        curve = det_curve(*gaussian_trials(200_000, 0.5, gap))
        middle = (curve["false_alarm"] > 0.01) & (curve["miss"] > 0.01)
        line = stats.norm.ppf(curve["false_alarm"][middle])
        line += stats.norm.ppf(curve["miss"][middle])
        np.testing.assert_allclose(line, -gap, atol=0.06)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(
    "scores, is_target, message",
    [
        ([], [], "`scores` .* not be empty"),
        ([0.5], [0, 1], "1 row of `scores`, 2 rows of `is_target`"),
        ([0.5, np.nan], [0, 1], r"`scores` must not be NaN; .* nan at \(1,\)"),
        ([[0.1], [0.5]], [0, 1], r"`scores` .* received shape \(2, 1\)"),
        (["a", "b"], [0, 1], "`scores` must be numbers"),
        ([0.1, 0.5], [0, 2], "`is_target` .* received 2"),
        ([0.1, 0.5], [0, np.nan], "`is_target` .* received nan"),
        ([0.1, 0.5], ["yes", "no"], "`is_target` .* received yes"),
        ([0.1, 0.5], [1, 1], "received 2 target and 0 nontarget"),
        ([0.1, 0.5], [0, 0], "received 0 target and 2 nontarget"),
    ],
)
def test_errors(measure, scores, is_target, message):
    with pytest.raises(ValueError, match=message):
        measure(scores, is_target)
    with pytest.raises(ValueError, match=message):
        bootstrap_interval(measure, scores, is_target)


def mean_score(scores, is_target):
    return float(np.mean(scores))


class Recorder:
    """A metric that records its values."""

    def __init__(self, measure):
        self.measure, self.values = measure, []

    def __call__(self, scores, is_target):
        value = self.measure(scores, is_target)
        self.values.append(round(value, 9))
        return value


def assert_drawn_as(expected: Counter, values):
    """Frequencies agree with enumerated draws within 5 deviations."""
    found, total = Counter(values), sum(expected.values())
    assert set(found) == set(expected)
    for value, count in expected.items():
        share = count / total
        spread = math.sqrt(share * (1 - share) / len(values))
        assert abs(found[value] / len(values) - share) <= 5 * spread


class TestBootstrapInterval:
    def test_trials_against_the_normal_interval(self):
        scores, is_target = gaussian_trials(2000)

        def mean_of_targets(scores, is_target):
            return scores[is_target].mean()

        low, high = bootstrap_interval(
            mean_of_targets, scores, is_target, num_resamples=4000, level=0.9
        )
        targets = scores[is_target]
        half = stats.norm.ppf(0.95) * targets.std() / math.sqrt(len(targets))
        # The 5 % quantile of 4000 draws has a relative deviation of 1.7 %.
        assert low == pytest.approx(targets.mean() - half, abs=half / 10)
        assert high == pytest.approx(targets.mean() + half, abs=half / 10)

    def test_trials_against_enumeration(self):
        # Two targets and one nontarget; each kind is drawn separately.
        expected = Counter(
            round((a + b + 10) / 3, 9)
            for a, b in itertools.product((1, 2), repeat=2)
        )
        recorder = Recorder(mean_score)
        bootstrap_interval(
            recorder, [1.0, 10.0, 2.0], [1, 0, 1], num_resamples=2000
        )
        assert_drawn_as(expected, recorder.values)

    @pytest.mark.parametrize("sides", [1, 2])
    def test_groups_against_enumeration(self, sides):
        # Trials (first, second, score); the same speaker makes a target.
        trials = [
            (4, 4, 1.0),
            (4, 4, 2.5),
            (7, 7, 4.0),
            (4, 7, 8.2),
            (7, 9, 16.1),
            (9, 4, 32.7),
        ]
        expected = Counter()
        for drawn in itertools.product((4, 7, 9), repeat=3):
            kept = []
            for first, second, score in trials:
                if sides == 1:
                    times = drawn.count(first)
                elif first == second:
                    times = drawn.count(first)
                else:
                    times = sum(
                        {a, b} == {first, second}
                        for a, b in itertools.combinations(drawn, 2)
                    )
                kept += times * [(first == second, score)]
            if {target for target, _ in kept} == {True, False}:
                expected[round(np.mean([s for _, s in kept]), 9)] += 1
        assert sum(expected.values()) < 27  # some are drawn again
        groups = np.array([trial[:2] for trial in trials])
        scores = [score for *_, score in trials]
        recorder = Recorder(mean_score)
        interval = bootstrap_interval(
            recorder,
            scores,
            groups[:, 0] == groups[:, 1],
            groups if sides == 2 else groups[:, 0],
            level=0.5,
            num_resamples=2000,
        )
        assert_drawn_as(expected, recorder.values)
        assert interval == pytest.approx(
            np.quantile(recorder.values, [0.25, 0.75]), abs=1e-6
        )

    def test_groups_tell_the_spread_over_new_speakers(self):
        # All trials of a speaker score high, or all low.
        num_speakers, per_speaker = 30, 20
        first, second = np.triu_indices(num_speakers, k=1)
        targets = np.repeat(np.arange(num_speakers), per_speaker)
        groups = np.stack(
            [np.append(first, targets), np.append(second, targets)], axis=1
        )
        is_target = groups[:, 0] == groups[:, 1]

        def draw_scores(seed):
            rng = np.random.default_rng(seed)
            level = rng.normal(size=num_speakers)
            noise = rng.normal(size=len(groups))
            return level[groups].sum(axis=1) + 3 * is_target + noise

        spread = np.std(
            [roc_auc(draw_scores(seed), is_target) for seed in range(100, 300)]
        )

        def mean_width(*groups):
            ends = [
                bootstrap_interval(
                    roc_auc,
                    draw_scores(seed),
                    is_target,
                    *groups,
                    level=0.6827,  # one standard deviation on each side
                    num_resamples=100,
                )
                for seed in range(6)
            ]
            return np.mean(np.diff(ends)) / 2

        assert mean_width(groups) == pytest.approx(spread, rel=0.3)
        assert mean_width() < spread / 2

    def test_measures(self):
        scores, is_target = gaussian_trials()
        for measure in (
            equal_error_rate,
            roc_auc,
            functools.partial(min_dcf, target_prior=0.2),
        ):
            value = measure(scores, is_target)
            value = value[0] if isinstance(value, tuple) else value
            low, high = bootstrap_interval(
                measure, scores, is_target, num_resamples=100
            )
            assert low < value < high
            assert type(low) is type(high) is float

    def test_wider_at_a_higher_level(self):
        scores, is_target = gaussian_trials()
        ends = [
            bootstrap_interval(
                roc_auc, scores, is_target, level=level, num_resamples=200
            )
            for level in (0.5, 0.9)
        ]
        assert ends[1][0] < ends[0][0] < ends[0][1] < ends[1][1]

    def test_seed(self):
        scores, is_target = gaussian_trials(50)
        first, second, other = (
            bootstrap_interval(
                roc_auc, scores, is_target, num_resamples=20, seed=seed
            )
            for seed in (0, 0, 1)
        )
        assert first == second != other

    @pytest.mark.parametrize(
        "arguments, message",
        [
            ({"level": 1}, "`level` .* received 1"),
            ({"level": np.nan}, "`level` .* received nan"),
            ({"num_resamples": 0}, "`num_resamples` .* received 0"),
            ({"groups": [1, 2]}, r"\(3,\) or \(3, 2\); .* shape \(2,\)"),
            ({"groups": [[1], [2], [3]]}, r"shape \(3, 1\)"),
            ({"groups": [0.5, 1.0, 2.0]}, "must be integers.*float64"),
            ({"groups": [5, 5, 5]}, "at least two groups; .* only 5"),
            ({"groups": [[1, 1], [2, 2], [1, 2]]}, "would be the original"),
            ({"groups": [1, 2, 2]}, "would be the original"),
        ],
    )
    def test_errors(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            bootstrap_interval(roc_auc, [0.1, 0.5, 0.2], [0, 1, 1], **arguments)

    def test_two_groups_of_which_one_has_both_kinds(self):
        """The second group drawn twice has no nontargets."""
        recorder = Recorder(mean_score)
        bootstrap_interval(
            recorder,
            [1.0, 2.0, 6.0],
            [0, 1, 1],
            [0, 0, 1],
            num_resamples=2000,
        )
        # Both orders of both groups, and the first group twice.
        assert_drawn_as(Counter({3.0: 2, 1.5: 1}), recorder.values)


# Neighbours of these integers are equal in float64.
LARGE = [
    np.int64([2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2]),
    np.int64([-(2**63), -(2**63) + 1, 2**63 - 2, 2**63 - 1]),
    np.uint64([2**63, 2**63 + 1, 2**64 - 2, 2**64 - 1]),
]


@pytest.mark.parametrize("scores", LARGE)
def test_large_integers_are_compared_exactly(scores):
    """Equals the result for ranks, which floats represent."""
    for is_target in itertools.product([0, 1], repeat=4):
        if sum(is_target) in (0, 4):
            continue
        is_target, ranks = np.array(is_target, bool), np.arange(4)
        rate, threshold = equal_error_rate(scores, is_target)
        expected, rank = equal_error_rate(ranks, is_target)
        assert rate == expected
        assert threshold == int(scores[int(rank)])
        np.testing.assert_array_equal(
            scores >= threshold, ranks >= rank, strict=True
        )
        assert roc_auc(scores, is_target) == roc_auc(ranks, is_target)
        for prior in (0.01, 0.5):
            assert min_dcf(scores, is_target, prior) == min_dcf(
                ranks, is_target, prior
            )
        curve, of_ranks = (
            det_curve(scores, is_target),
            det_curve(ranks, is_target),
        )
        assert curve["threshold"].tolist() == [*map(int, scores), math.inf]
        for rate in ("miss", "false_alarm"):
            np.testing.assert_array_equal(curve[rate], of_ranks[rate])


def test_thresholds_are_floats_where_floats_are_exact():
    is_target = np.array([0, 1, 0, 1])
    for scores in (
        np.arange(4),
        np.arange(4) / 4,
        LARGE[0][:3].repeat([1, 2, 1]) - 9,
    ):
        assert type(equal_error_rate(scores, is_target)[1]) is float
        assert det_curve(scores, is_target)["threshold"].dtype == np.float64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target_prior": "a"}, "`target_prior` .* received 'a'"),
        ({"target_prior": None}, "`target_prior` .* received None"),
        ({"miss_cost": None}, "`miss_cost` .* received None"),
        ({"miss_cost": 10**400}, "`miss_cost` .* received 10000"),
        ({"miss_cost": math.nan}, "`miss_cost` .* received nan"),
        ({"false_alarm_cost": 1j}, "`false_alarm_cost` .* received 1j"),
        ({"miss_cost": 1e-300}, "comparable; received .*1e-300"),
        ({"miss_cost": 1e300}, "comparable; received .*1e\\+300"),
    ],
)
def test_min_dcf_of_no_sense(arguments, message):
    with pytest.raises(ValueError, match=message):
        min_dcf([0.1, 0.2], [0, 1], **arguments)


def test_large_costs_of_one_size():
    """Their sums overflow."""
    scores, is_target = gaussian_trials()
    assert min_dcf(scores, is_target, 0.5, 1.7e308, 1.7e308) == min_dcf(
        scores, is_target, 0.5
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"measure": 3}, "`measure` must be a function"),
        ({"measure": lambda s, t: math.nan}, "`measure` must be finite"),
        ({"measure": lambda s, t: "a"}, "`measure` must be numbers"),
        ({"level": "a"}, "`level` .* received 'a'"),
        ({"seed": -1}, "`seed` must be an integer"),
        ({"groups": [[0], [1, 2]]}, "`groups` must be an array, or lists"),
        ({"groups": np.ma.masked_equal([0, 1, 9], 9)}, "no masked entries"),
    ],
)
def test_bootstrap_of_no_sense(arguments, message):
    scores, is_target = gaussian_trials(9)
    with pytest.raises(ValueError, match=message):
        bootstrap_interval(
            **{
                "measure": roc_auc,
                "scores": scores,
                "is_target": is_target,
                **arguments,
            }
        )
