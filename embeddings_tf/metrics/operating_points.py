"""Errors of verification at every threshold, and metrics of them.

Used by `verification`, where the scores are the thresholds, and by
`trial_histogram`, where the limits of bins are the thresholds.
"""

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import number_between

# Twice the number of pairs of a target and a nontarget trial fits int64.
MOST_PAIRS = 2**62 - 1
# Largest ratio of the weights of both errors.
_WIDEST_RATIO = 1e100


def trials(scores: Any, is_target: Any) -> tuple[np.ndarray, np.ndarray]:
    """Returns scores, possibly infinite, and booleans, both `(n,)`, n > 0.

    Integer scores stay integers, because float64 would merge large ones.
    """
    scores = arrays.numbers(
        "scores", scores, 1, "(n,)", infinite=True, ordered=True
    )
    is_target = arrays.booleans("is_target", is_target, 1, "(n,)")
    arrays.same_length(scores=scores, is_target=is_target)
    return scores, is_target


def trials_of_both_kinds(
    scores: Any, is_target: Any
) -> tuple[np.ndarray, np.ndarray]:
    """As `trials`; refuses trials without targets or without nontargets."""
    scores, is_target = trials(scores, is_target)
    num_targets = int(np.count_nonzero(is_target))
    _refuse_one_kind(num_targets, len(is_target) - num_targets)
    return scores, is_target


@dataclasses.dataclass(frozen=True, eq=False)
class OperatingPoints:
    """Numbers of accepted trials at descending thresholds.

    The first threshold accepts nothing, the last threshold everything. Each
    metric comes with a bound of its error, for scores between the thresholds.
    The metric is exact if every score is a threshold.

    Args:
        thresholds: Descending; the first is inf. The dtype is object for
            integers that floats would merge.
        targets, nontargets: Trials of each kind accepted at each threshold.
    """

    thresholds: np.ndarray
    targets: np.ndarray
    nontargets: np.ndarray

    def __post_init__(self):
        _refuse_one_kind(self.num_targets, self.num_nontargets)

    @property
    def num_targets(self) -> int:
        return int(self.targets[-1])

    @property
    def num_nontargets(self) -> int:
        return int(self.nontargets[-1])

    @property
    def false_alarm(self) -> np.ndarray:
        return self.nontargets / self.num_nontargets

    @property
    def miss(self) -> np.ndarray:
        return (self.num_targets - self.targets) / self.num_targets

    def gap(self) -> np.ndarray:
        """False alarm less miss, in units of 1 / pairs: integers, ascending."""
        misses = self.num_targets - self.targets
        return self.nontargets * self.num_targets - misses * self.num_nontargets

    def equal_error_rate(self) -> tuple[float, float, float]:
        """Returns the rate, the nearest threshold, and the bound."""
        gap = self.gap()
        after = int(np.searchsorted(gap, 0))
        before = after - 1
        gaps = int(gap[before]), int(gap[after])
        share = Fraction(-gaps[0], gaps[1] - gaps[0])
        accepted = [int(self.nontargets[i]) for i in (before, after)]
        exact = accepted[0] + share * (accepted[1] - accepted[0])
        rate = float(exact / self.num_nontargets)
        # Between the thresholds both errors are monotone.
        false_alarm, miss = self.false_alarm, self.miss
        low = max(false_alarm[before], miss[after])
        high = min(false_alarm[after], miss[before])
        error = max(0.0, rate - low, high - rate)
        nearest = after if gaps[1] <= -gaps[0] else before
        (threshold,) = self.thresholds[[nearest]].tolist()
        return rate, threshold, float(error)

    def roc_auc(self) -> tuple[float, float]:
        """Returns the area and the bound."""
        targets, nontargets = np.diff(self.targets), np.diff(self.nontargets)
        above = self.targets[:-1]
        won = int(np.sum(nontargets * (2 * above + targets)))
        tied = int(np.sum(nontargets * targets))
        pairs = 2 * self.num_targets * self.num_nontargets
        return won / pairs, tied / pairs

    def min_dcf(
        self, target_prior: float, miss_cost: float, false_alarm_cost: float
    ) -> tuple[float, float]:
        """Returns the normalised cost and the bound."""
        target_prior = number_between("target_prior", target_prior, 0, 1)
        miss_cost = number_between("miss_cost", miss_cost, 0, math.inf)
        false_alarm_cost = number_between(
            "false_alarm_cost", false_alarm_cost, 0, math.inf
        )
        miss_weight = miss_cost * target_prior
        false_alarm_weight = false_alarm_cost * (1 - target_prior)
        scale = min(miss_weight, false_alarm_weight)
        # Beyond this ratio, sums of both overflow or equal the larger.
        if max(miss_weight, false_alarm_weight) > _WIDEST_RATIO * scale:
            raise ValueError(
                "`target_prior`, `miss_cost` and `false_alarm_cost` must make "
                "misses and false alarms comparable; received "
                f"{target_prior!r}, {miss_cost!r} and {false_alarm_cost!r}, "
                "with which one error has almost no weight. Use costs of "
                "about 1."
            )
        miss_weight, false_alarm_weight = (
            miss_weight / scale,
            false_alarm_weight / scale,
        )
        miss = miss_weight * self.miss
        false_alarm = false_alarm_weight * self.false_alarm
        cost = np.min(miss + false_alarm)
        # The lowest cost that a threshold between two of these could have.
        least = np.min(miss[1:] + false_alarm[:-1])
        return float(cost), float(max(0.0, cost - least))

    def min_cllr(self) -> tuple[float, float]:
        """Returns Cllr after the best monotone calibration, and the bound."""
        # In ascending order of the scores.
        targets = np.diff(self.targets)[::-1] / self.num_targets
        nontargets = np.diff(self.nontargets)[::-1] / self.num_nontargets
        cost = _isotonic_cost(targets, nontargets)
        # The lowest cost if the scores between two thresholds differ.
        none = np.zeros_like(targets)
        least = _isotonic_cost(
            np.stack([none, targets], axis=1).reshape(-1),
            np.stack([nontargets, none], axis=1).reshape(-1),
        )
        return cost, max(0.0, cost - least)


def _refuse_one_kind(num_targets: int, num_nontargets: int) -> None:
    if not (num_targets and num_nontargets):
        raise ValueError(
            "`is_target` must contain both kinds of trials; received "
            f"{num_targets} target and {num_nontargets} nontarget trials. The "
            "error rate of a missing kind is undefined: add trials of this "
            "kind."
        )


def _isotonic_cost(targets: np.ndarray, nontargets: np.ndarray) -> float:
    """Cllr of shares at ascending scores, calibrated by isotonic regression."""
    from scipy.special import rel_entr
    from sklearn.isotonic import isotonic_regression

    total = targets + nontargets
    filled = total > 0
    targets, nontargets, total = (
        share[filled] for share in (targets, nontargets, total)
    )
    fitted = isotonic_regression(targets / total, sample_weight=total)
    # Neighbours with one fitted value are one block, and have one ratio.
    block = np.cumsum(np.append(False, np.diff(fitted) > 0))
    targets, nontargets = (
        np.bincount(block, share) for share in (targets, nontargets)
    )
    total = targets + nontargets
    entropy = rel_entr(targets, total) + rel_entr(nontargets, total)
    return min(1.0, max(0.0, float(-np.sum(entropy) / (2 * math.log(2)))))
