"""Confidence interval of means that were measured on the same subjects."""

import math
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import number_between


def within_subject_interval(values: Any, level: float = 0.95) -> float:
    """Half width of the within-subject interval of Loftus and Masson.

    Use it for error bars when all methods were measured on the same data sets,
    folds or seeds (the subjects). Differences between subjects, which shift all
    methods together, do not widen it. As a rule of thumb, two means differ
    clearly if they are more than `sqrt(2)` half widths apart.

    Formula, for the value `x_sm` of subject `s` and method `m`, with `n`
    subjects and `k` methods:

    ```
    residual_sm = x_sm - mean of subject s - mean of method m + mean of all
    mean square = sum of residual_sm^2 / ((n - 1) (k - 1))
    half width  = t * sqrt(mean square / n)
    ```

    where `t` is the quantile of `(1 + level) / 2` of Student's t with
    `(n - 1) (k - 1)` degrees of freedom. The same half width belongs to every
    method.

    Args:
        values: `(subjects, methods)`, at least two of each.
        level: Probability that an interval covers its mean, between 0 and 1.

    Returns:
        The half width, at least 0.

    Raises:
        ValueError: If there are fewer than two subjects or methods, a value is
            not finite, or the level is not between 0 and 1.

    Reference:
        - [Loftus & Masson, 1994](https://doi.org/10.3758/BF03210951)
        - [Masson & Loftus, 2003](https://doi.org/10.1037/h0087426)

    Example:

    >>> values = [[10.0, 12.0], [20.0, 23.0], [30.0, 31.0]]
    >>> round(embeddings_tf.metrics.within_subject_interval(values), 3)
    1.757
    """
    from scipy.stats import t

    values = arrays.numbers("values", values, 2, "(subjects, methods)")
    level = number_between("level", level, 0, 1)
    subjects, methods = values.shape
    if subjects < 2 or methods < 2:
        raise ValueError(
            "`values` must have at least two subjects and two methods; "
            f"received {subjects} subjects and {methods} methods."
        )
    scaled, exponent = arrays.scaled(values)
    residual = scaled - scaled.mean(axis=1, keepdims=True)
    residual -= residual.mean(axis=0)
    freedom = (subjects - 1) * (methods - 1)
    error = math.sqrt(np.sum(residual**2) / freedom / subjects)
    # The lower quantile, because (1 + level) / 2 may round to 1.
    quantile = -t.ppf((1 - level) / 2, freedom)
    return float(np.ldexp(quantile * error, exponent))
