"""Minimum Cllr: the cost of scores after the best calibration."""

from typing import Any

from embeddings_tf.metrics.verification import operating_points


def min_cllr(scores: Any, is_target: Any) -> float:
    """Minimum Cllr: the cost of scores after the best calibration, in bits.

    Use it beside `cllr`: the difference is the loss by calibration, and
    `min_cllr` is the loss by discrimination. It works for every score, such as
    the cosine, because only the order of the scores matters.

    Formula:

    ```
    min Cllr = min over increasing functions f of Cllr(f(scores))
    ```

    Isotonic regression (pool adjacent violators) finds the minimum. It is
    fitted to the same trials, so the value is a lower limit for a calibration
    that is fitted to other trials.

    Args:
        scores, is_target: As in `equal_error_rate`, `(n,)`.

    Returns:
        A float in `[0, 1]`: 0 if all targets score higher than all
        nontargets, 1 if the scores are useless.

    Raises:
        ValueError: As `equal_error_rate`.

    Reference:
        - [Brümmer & du Preez, 2006](https://doi.org/10.1016/j.csl.2005.08.001)

    Example:

    >>> embeddings_tf.metrics.min_cllr([0.1, 0.7, 0.8, 0.9], [0, 0, 1, 1])
    0.0
    >>> embeddings_tf.metrics.min_cllr([0.9, 0.8, 0.7, 0.1], [0, 0, 1, 1])
    1.0
    """
    return operating_points(scores, is_target).min_cllr()[0]
