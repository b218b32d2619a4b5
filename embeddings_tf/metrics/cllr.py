"""Cllr: the cost of log-likelihood ratios, in bits."""

import math
from typing import Any

import numpy as np

from embeddings_tf.metrics.operating_points import trials_of_both_kinds

BLOCK_SIZE = 2**14


def cllr(scores: Any, is_target: Any) -> float:
    """Cllr: the cost of log-likelihood ratios, in bits.

    Use it for scores that claim to be log-likelihood ratios, such as scores of
    `layers.PairDistance` and `models.PLDA`. The EER measures only their order.
    Cllr also measures their values: it is the mean cost over all priors and
    error costs. `min_cllr` is the part that no calibration removes.

    Formula, with scores `s`:

    ```
    Cllr = (mean over targets of log2(1 + exp(-s))
            + mean over nontargets of log2(1 + exp(s))) / 2
    ```

    Both kinds of trials have equal weight, so their numbers do not matter.

    Args:
        scores: `(n,)`, log-likelihood ratios (natural logarithm); larger means
            more similar.
        is_target: `(n,)` booleans (or 0 and 1), whether the two examples of
            the trial are of the same class.

    Returns:
        A float of at least 0: 1 bit for ratios that are always 1, more for
        ratios that mislead, inf for a ratio of 0 or inf that is wrong.

    Raises:
        ValueError: As `equal_error_rate`.

    Reference:
        - [Brümmer & du Preez, 2006](https://doi.org/10.1016/j.csl.2005.08.001)

    Example:

    >>> embeddings_tf.metrics.cllr([0.0, 0.0, 0.0], [1, 0, 0])
    1.0
    >>> round(embeddings_tf.metrics.cllr([5.0, -4.0], [1, 0]), 3)
    0.018
    """
    scores, is_target = trials_of_both_kinds(scores, is_target)
    total = _mean_cost(scores[is_target], -1) + _mean_cost(
        scores[~is_target], 1
    )
    return total / (2 * math.log(2))


def _mean_cost(ratios: np.ndarray, sign: int) -> float:
    """Mean of log(1 + exp(sign * ratio)), in blocks that fit in the cache."""
    total = 0.0
    for first in range(0, len(ratios), BLOCK_SIZE):
        x = sign * ratios[first : first + BLOCK_SIZE].astype(np.float64)
        total += float(np.sum(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))))
    return total / len(ratios)


def mean_cost(
    targets: np.ndarray,
    target_ratios: np.ndarray,
    nontargets: np.ndarray,
    nontarget_ratios: np.ndarray,
) -> float:
    """Cllr of shares of targets and nontargets, and of their ratios."""
    total = 0.0
    for shares, ratios in (
        (targets, -target_ratios),
        (nontargets, nontarget_ratios),
    ):
        filled = shares > 0  # 0 times inf is no cost
        total += float(shares[filled] @ np.logaddexp(0, ratios[filled]))
    return total / (2 * math.log(2))
