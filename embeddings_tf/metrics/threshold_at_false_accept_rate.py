"""Thresholds at a stated false-accept rate."""

from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.operating_points import trials_of_both_kinds
from embeddings_tf.ops.arguments import number_between


def threshold_at_false_accept_rate(
    scores: Any, is_target: Any, false_accept_rate: float = 0.01
) -> float:
    """Lowest threshold with at most the stated false-accept rate.

    Use it to choose a threshold on trials of held-out classes. The rate holds
    for these trials; `error_rates` measures it on other trials. Pass it to
    `bootstrap_interval` for the interval of the threshold over classes. For a
    rate that is promised for new classes use `conformal_threshold`.

    Formula:

    ```
    threshold = smallest t with (nontargets with score >= t) / nontargets
                <= false_accept_rate
    ```

    Args:
        scores, is_target: As in `equal_error_rate`, `(n,)`, with finite scores.
        false_accept_rate: Between 0 and 1.

    Returns:
        A float: just above the highest score that must be rejected. Accept
        when `score >= threshold`. Infinity if that score is the largest number
        of its dtype.

    Raises:
        ValueError: As `equal_error_rate`, if a score is infinite, or if the
            rate is not between 0 and 1.

    Reference:

    - [van Leeuwen & Brummer, 2007](https://doi.org/10.1007/978-3-540-74200-5_19)

    Example:

    >>> rng = np.random.default_rng(0)
    >>> is_target = np.arange(400) % 4 == 0
    >>> scores = rng.normal(size=400) + 2 * is_target
    >>> threshold = embeddings_tf.metrics.threshold_at_false_accept_rate(
    ...     scores, is_target, 0.05
    ... )
    >>> embeddings_tf.metrics.error_rates(scores, is_target, threshold)
    (0.05, 0.39)
    """
    rate = number_between("false_accept_rate", false_accept_rate, 0, 1)
    given, scores = scores, arrays.numbers("scores", scores, 1, "(n,)")
    dtype = arrays.compared_dtype(given, scores)
    scores, is_target = trials_of_both_kinds(scores, is_target)
    falling = np.sort(scores[~is_target])[::-1]
    # Rounding must not refuse a rate such as 0.29 of 100 nontargets.
    allowed = int(np.floor(rate * len(falling) * (1 + 1e-12)))
    rejected = falling[min(allowed, len(falling) - 1)]
    # In the dtype of the scores, because rounding might accept one more.
    return arrays.just_above(rejected, dtype)
