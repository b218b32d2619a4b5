"""Error rates of verification at a given threshold."""

from typing import Any

from embeddings_tf.metrics.operating_points import trials
from embeddings_tf.metrics.verification import operating_points
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
        threshold: A finite number.

    Returns:
        The false-accept rate and the miss rate, floats in `[0, 1]`.

    Raises:
        ValueError: As `equal_error_rate`, or if the threshold is not finite.

    Reference:

    - [van Leeuwen & Brummer, 2007](https://doi.org/10.1007/978-3-540-74200-5_19)

    Example:

    >>> scores, is_target = [0.9, 0.3, 0.4, 0.1], [1, 1, 0, 0]
    >>> embeddings_tf.metrics.error_rates(scores, is_target, 0.4)
    (0.5, 0.5)
    """
    threshold = finite_number("threshold", threshold)
    points = operating_points(scores, is_target)
    scores, is_target = trials(scores, is_target)
    accepted = scores >= threshold
    return (
        int((accepted & ~is_target).sum()) / points.num_nontargets,
        int((~accepted & is_target).sum()) / points.num_targets,
    )
