"""Reliability of log-likelihood ratios, bin by bin."""

from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.arrays import number_of_bins
from embeddings_tf.metrics.operating_points import trials_of_both_kinds


def likelihood_ratio_curve(
    scores: Any, is_target: Any, num_bins: int = 15
) -> dict[str, np.ndarray]:
    """Observed against stated log-likelihood ratios, bin by bin.

    Use it to see where scores that claim to be log-likelihood ratios are too
    sure: plot `observed` over `stated`; calibrated ratios are on the diagonal.
    `viz.calibration_figure` draws it, and `cllr` is its summary.

    Formula: trials are sorted by score and divided into bins of equal weight,
    where targets and nontargets have the same total weight. In a bin with `t`
    of T targets and `n` of N nontargets,

    ```
    observed = ln(t / T) - ln(n / N)
    stated = weighted mean of the scores in the bin
    ```

    Args:
        scores: `(n,)`, log-likelihood ratios (natural logarithm), finite.
        is_target: As in `equal_error_rate`, `(n,)`.
        num_bins: Number of bins, at most 100,000. Trials with equal scores stay
            together.

    Returns:
        A dictionary of arrays with one entry per bin that has both kinds of
        trials, in ascending order: `stated`, `observed`, `targets` and
        `nontargets` (the numbers of trials). The arrays are empty if the scores
        separate both kinds.

    Raises:
        ValueError: As `equal_error_rate`, or if a score is infinite.

    Reference:
        - [Guo, Pleiss, Sun & Weinberger, 2017](https://arxiv.org/abs/1706.04599),
          reliability diagrams

    Example:

    >>> curve = embeddings_tf.metrics.likelihood_ratio_curve(
    ...     [2.0, 2.0, 2.0, -1.0, -1.0], [1, 1, 0, 1, 0], num_bins=2
    ... )
    >>> curve["stated"], curve["observed"].round(2)
    (array([-1.,  2.]), array([-0.41,  0.29]))
    """
    num_bins = number_of_bins("num_bins", num_bins)
    scores = arrays.numbers("scores", scores, 1, "(n,)").astype(np.float64)
    scores, is_target = trials_of_both_kinds(scores, is_target)
    num_targets = np.count_nonzero(is_target)
    num_nontargets = len(is_target) - num_targets
    weight = np.where(is_target, 0.5 / num_targets, 0.5 / num_nontargets)
    distinct, place = np.unique(scores, return_inverse=True)
    mass = np.bincount(place, weight)
    middle = np.cumsum(mass) - mass / 2
    bins = np.minimum((middle * num_bins).astype(int), num_bins - 1)[place]
    targets = np.bincount(bins, is_target, num_bins)
    nontargets = np.bincount(bins, ~is_target, num_bins)
    both = (targets > 0) & (nontargets > 0)
    stated = np.bincount(bins, weight * scores, num_bins)[both]
    return {
        "stated": stated / np.bincount(bins, weight, num_bins)[both],
        "observed": np.log(targets[both] / num_targets)
        - np.log(nontargets[both] / num_nontargets),
        "targets": targets[both].astype(int),
        "nontargets": nontargets[both].astype(int),
    }
