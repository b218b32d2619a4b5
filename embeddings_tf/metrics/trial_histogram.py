"""Verification metrics for trials that do not fit in memory."""

import math
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.cllr import mean_cost
from embeddings_tf.metrics.operating_points import MOST_PAIRS
from embeddings_tf.metrics.operating_points import OperatingPoints
from embeddings_tf.metrics.operating_points import trials
from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import positive_integer

# The smallest finite number of float32.
_SMALLEST = float(np.finfo(np.float32).min)


class TrialHistogram:
    """EER, AUC, minDCF and Cllr of trials that do not fit in memory.

    Use it for many trials, such as all pairs of a test set: 10,000 examples
    make 50 million. It counts trials block by block in fixed memory,
    `16 * 2**num_bits` bytes (16 MiB by default), and does not store them. The
    result does not depend on the order of trials or on the blocks.

    A bin contains the scores whose float32 have the same first `num_bits`
    bits: one of sign, eight of exponent, the rest of mantissa. The range of
    the scores need not be known. The width of a bin is proportional to the
    score: the limits of a bin differ by a factor of at most
    `1 + 2**(9 - num_bits)`, 0.05 % by default. -inf and inf have bins of their
    own, and 0 starts a bin.

    The metrics are `equal_error_rate`, `roc_auc`, `min_dcf`, `cllr` and
    `min_cllr`, as if the scores of a bin were tied. Each method also returns a
    bound of its error. The bound is always valid: error rates at the limits of
    bins are exact, and between limits they are monotone. The bound is about the
    share of trials in the bin at the threshold, even if these trials are really
    tied. Scores that are close together and far from 0, such as probabilities
    just below 1, share bins: pass logits, or use more bits.

    Args:
        num_bits: Between 10 and 26; one more bit about halves the bound and
            doubles the memory.

    Raises:
        ValueError: If `num_bits` is out of range.

    Example:

    >>> histogram = embeddings_tf.metrics.TrialHistogram()
    >>> histogram.update([3.0, 2.0, -1.0], [True, True, False])
    >>> histogram.update([0.5, 1.0], [True, False])
    >>> histogram.equal_error_rate()
    (0.3333333333333333, 1.0, 0.0)
    >>> histogram.roc_auc()
    (0.8333333333333334, 0.0)
    """

    def __init__(self, num_bits: int = 20):
        num_bits = positive_integer("num_bits", num_bits)
        if not 10 <= num_bits <= 26:
            raise ValueError(
                "`num_bits` must be between 10 and 26, for memory of 16 KiB to "
                f"1 GiB; received {num_bits}."
            )
        self._shift = np.uint32(32 - num_bits)
        # Nontargets, targets.
        self._counts = np.zeros((2, 2**num_bits), np.int64)
        self._num_trials = np.zeros(2, np.int64)
        # Whether finite scores of targets are in the bin of -inf.
        self._has_below = False

    def update(self, scores: Any, is_target: Any) -> None:
        """Counts a block of trials, which may be empty.

        Args:
            scores: `(n,)`, as in `equal_error_rate`. float64 and integers are
                sorted into bins exactly, without rounding to float32.
            is_target: `(n,)` booleans (or 0 and 1).

        Raises:
            ValueError: If the arrays are of the wrong rank or of different
                lengths, if a score is NaN, if `is_target` contains other
                values than 0 and 1, or if there are too many trials (four
                billion) to count their pairs. The block is then not counted.
        """
        scores, is_target = (
            array("scores", scores),
            array("is_target", is_target),
        )
        if scores.shape == is_target.shape == (0,):
            return  # the last block of all pairs may be a single example
        scores, is_target = trials(scores, is_target)
        num_trials = self._num_trials + np.bincount(is_target, minlength=2)
        if int(num_trials[0]) * int(num_trials[1]) > MOST_PAIRS:
            raise ValueError(
                f"`scores` would bring the trials to {num_trials[1]} targets "
                f"and {num_trials[0]} nontargets, and the product must stay "
                "below 2**62. Count fewer trials in one histogram."
            )
        self._num_trials = num_trials
        below = is_target & np.isfinite(scores) & (scores < _SMALLEST)
        self._has_below = self._has_below or bool(below.any())
        bins = _ordered(scores) >> self._shift
        bins = bins + is_target * np.uint32(self._counts.shape[1])
        np.add.at(self._counts.reshape(-1), bins, 1)

    def equal_error_rate(self) -> tuple[float, float, float]:
        """Returns the EER, the nearest threshold, and the bound of the error.

        The threshold is the lower limit of a bin, so its error rates are
        exact; accept when `score >= threshold`.

        Raises:
            ValueError: If one kind of trials is missing.
        """
        return self._operating_points().equal_error_rate()

    def roc_auc(self) -> tuple[float, float]:
        """Returns the area under the ROC curve and the bound of the error.

        Raises:
            ValueError: If one kind of trials is missing.
        """
        return self._operating_points().roc_auc()

    def min_dcf(
        self,
        target_prior: float = 0.01,
        miss_cost: float = 1,
        false_alarm_cost: float = 1,
    ) -> tuple[float, float]:
        """Returns the normalised minimum cost and the bound of the error.

        The cost is never below the cost of the scores themselves, because it
        is the minimum over some of the thresholds. Arguments as in
        `embeddings_tf.metrics.min_dcf`.

        Raises:
            ValueError: If one kind of trials is missing, or if the prior
                or a cost is out of range.
        """
        return self._operating_points().min_dcf(
            target_prior, miss_cost, false_alarm_cost
        )

    def cllr(self) -> tuple[float, float]:
        """Returns the cost of log-likelihood ratios and the bound of the error.

        Unlike the other metrics it depends on the values of the scores. It is
        the mean of the costs at both limits of the bins. With finite scores
        of targets below -3.4e38, which share the bin of -inf, both are
        infinite.

        Raises:
            ValueError: If one kind of trials is missing.
        """
        self._operating_points()  # refuses trials of one kind only
        if self._has_below:
            return math.inf, math.inf
        filled = np.flatnonzero(np.any(self._counts, axis=0)).astype(np.uint32)
        low = _score(filled << self._shift).astype(np.float64)
        last = np.uint32(2**32 - 1) >> self._shift
        above = np.minimum(filled + np.uint32(1), last)
        high = _score(above << self._shift).astype(np.float64)
        high = np.where(np.isinf(low), low, high)
        nontargets, targets = (
            count[filled] / np.sum(count) for count in self._counts
        )
        least = mean_cost(targets, high, nontargets, low)
        most = mean_cost(targets, low, nontargets, high)
        if math.isinf(most):
            return most, 0.0 if math.isinf(least) else most
        return (least + most) / 2, (most - least) / 2

    def min_cllr(self) -> tuple[float, float]:
        """Returns Cllr after the best calibration and the bound of the error.

        The cost is never below the cost of the scores themselves.

        Raises:
            ValueError: If one kind of trials is missing.
        """
        return self._operating_points().min_cllr()

    def _operating_points(self) -> OperatingPoints:
        filled = np.flatnonzero(np.any(self._counts, axis=0))[::-1]
        nontargets, targets = (
            np.append(0, np.cumsum(count[filled])) for count in self._counts
        )
        limits = _score(filled.astype(np.uint32) << self._shift)
        return OperatingPoints(np.append(np.inf, limits), targets, nontargets)


def _ordered(scores: np.ndarray) -> np.ndarray:
    """Rounds scores down to uint32 with the same order."""
    if scores.dtype.kind in "iu":
        # Clears the last 11 bits first, because float64 would round.
        down = np.where(
            arrays.beyond_float64(scores), scores >> 11 << 11, scores
        )
        scores = down.astype(np.float64)
    with np.errstate(over="ignore"):  # rounds to inf, then down again
        rounded = scores.astype(np.float32)
    if scores.dtype == np.float64:
        down = np.nextafter(rounded, np.float32(-np.inf))
        rounded = np.where(rounded > scores, down, rounded)
    bits = (rounded + np.float32(0)).view(np.uint32)  # -0 becomes 0
    # Bits of positive floats ascend with the value; bits of negative floats
    # descend.
    return np.where(bits >> 31, ~bits, bits | np.uint32(2**31))


def _score(ordered: np.ndarray) -> np.ndarray:
    """Returns the smallest float32 of a bin, from its number."""
    bits = np.where(ordered >> 31, ordered & np.uint32(2**31 - 1), ~ordered)
    score = bits.view(np.float32)
    # The bin of -inf starts with the bits of NaN.
    return np.where(np.isnan(score), np.float32(-np.inf), score)
