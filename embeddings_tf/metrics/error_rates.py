"""Error rates of verification at a given threshold."""

import math
from typing import Any

import numpy as np

from embeddings_tf.metrics.operating_points import trials_of_both_kinds
from embeddings_tf.ops.arguments import finite_number


def error_rates(
    scores: Any, is_target: Any, threshold: float
) -> tuple[float, float]:
    """False-accept rate and miss rate at a given threshold.

    Use it to measure a threshold that was chosen on other trials, for instance
    by `threshold_at_false_accept_rate`. `bootstrap_interval` gives the interval
    of the false-accept rate over classes.

    Formula:

    ```
    false accepts = nontargets with score >= threshold / nontargets
    misses = targets with score < threshold / targets
    ```

    Args:
        scores, is_target: As in `equal_error_rate`, `(n,)`.
        threshold: A number. Infinity accepts no finite score, and minus
            infinity accepts all.

    Returns:
        The false-accept rate and the miss rate, floats in `[0, 1]`.

    Raises:
        ValueError: As `equal_error_rate`, or if the threshold is not a number.

    Reference:

    - [van Leeuwen & Brummer, 2007](https://doi.org/10.1007/978-3-540-74200-5_19)

    Example:

    >>> scores, is_target = [0.9, 0.3, 0.4, 0.1], [1, 1, 0, 0]
    >>> embeddings_tf.metrics.error_rates(scores, is_target, 0.4)
    (0.5, 0.5)
    """
    limit = threshold
    if not (isinstance(limit, float | np.floating) and np.isinf(limit)):
        threshold = finite_number("threshold", threshold)
    scores, is_target = trials_of_both_kinds(scores, is_target)
    if scores.dtype.kind in "iu" and np.isfinite(threshold):
        # Exact also where float64 is not.
        whole = isinstance(limit, (int, np.integer))
        accepted = scores >= (int(limit) if whole else math.ceil(threshold))
    else:
        # As float32, it could be rounded down to the largest score.
        accepted = scores >= np.float64(threshold)
    false_accepts, misses = accepted[~is_target], ~accepted[is_target]
    return float(np.mean(false_accepts)), float(np.mean(misses))
