"""Bootstrap confidence intervals of verification metrics."""

from collections.abc import Callable
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.operating_points import trials_of_both_kinds
from embeddings_tf.ops import arguments
from embeddings_tf.ops.arguments import number_between
from embeddings_tf.ops.arguments import positive_integer


def bootstrap_interval(
    measure: Callable,
    scores: Any,
    is_target: Any,
    groups: Any = None,
    *,
    level: float = 0.95,
    num_resamples: int = 1000,
    seed: int = 0,
) -> tuple[float, float]:
    """Bootstrap confidence interval of a verification metric.

    Use it to report how much a metric varies with the drawn trials. Resampling
    needs independent units. Trials are not independent: every speaker (or
    class) is in many trials, which are hard or easy together. Therefore pass
    the two speakers of every trial as `groups`. Without `groups` the interval
    is correct only if no speaker is in two trials. Otherwise it is too narrow,
    often by far: it can at best describe other recordings of the same speakers.

    Formula:

    ```
    interval = quantiles (1 - level) / 2 and (1 + level) / 2 of the metric
               over num_resamples resamples
    ```

    (the percentile bootstrap). Without `groups` a resample draws targets from
    the targets and nontargets from the nontargets, with replacement, in the
    same numbers. With `groups` it draws groups with replacement, in the same
    number, and repeats a trial

    - `(n,)`: as often as its group was drawn (subsets bootstrap);
    - `(n, 2)`: as often as its group was drawn if both sides have the same
      group; otherwise the product of both counts, as in the list of all
      trials among the drawn speakers.

    Resamples without targets or nontargets are drawn again. The metric is
    called `num_resamples` times.

    Args:
        measure: The metric: a function of `(scores, is_target)` that returns a
            number, or a tuple that starts with it, such as `equal_error_rate`,
            `roc_auc` or `functools.partial(min_dcf, target_prior=0.05)`.
        scores, is_target: As in `equal_error_rate`, `(n,)`.
        groups: None, or integers `(n,)` or `(n, 2)`: the class of each trial
            (for instance the enrolled class), or the classes of both sides.
        level: Probability that the interval covers the metric, between 0 and
            1. With few groups the interval is too narrow.
        num_resamples: Number of resamples; more give a more stable interval.
        seed: Random seed; the same seed gives the same interval.

    Returns:
        The lower and the upper end of the interval.

    Raises:
        ValueError: As `equal_error_rate`. If `groups` are not integers of one
            of these shapes, or all equal, or two of which neither alone has
            targets and nontargets: every resample is then the original. If
            the level is not between 0 and
            1, or the seed is not an integer of at least 0. If the metric is
            not a function, or returns a number that is not finite.

    Reference:
        - [Efron & Tibshirani, 1986](https://doi.org/10.1214/ss/1177013815)
        - [Bolle, Ratha & Pankanti, 2004](https://doi.org/10.1016/j.cviu.2003.08.002),
          the subsets bootstrap

    Example:

    >>> rng = np.random.default_rng(0)
    >>> is_target = rng.random(200) < 0.5
    >>> scores = rng.normal(size=200) + 2 * is_target
    >>> low, high = embeddings_tf.metrics.bootstrap_interval(
    ...     embeddings_tf.metrics.roc_auc, scores, is_target, num_resamples=100
    ... )
    >>> low < embeddings_tf.metrics.roc_auc(scores, is_target) < high
    True
    """
    scores, is_target = trials_of_both_kinds(scores, is_target)
    num_resamples = positive_integer("num_resamples", num_resamples)
    arguments.function("measure", measure, "(scores, is_target)")
    level = number_between("level", level, 0, 1)
    rng = arrays.generator(seed)
    if groups is None:
        kinds = [np.flatnonzero(is_target), np.flatnonzero(~is_target)]

        def draw():
            return np.concatenate([rng.choice(k, len(k)) for k in kinds])

    else:
        groups, num_groups = _groups(groups, len(scores))
        if num_groups == 2:
            _require_two_to_differ(groups, is_target)

        def draw():
            drawn = rng.integers(num_groups, size=num_groups)
            times = np.bincount(drawn, minlength=num_groups)[groups]
            if times.ndim == 2:
                same = groups[:, 0] == groups[:, 1]
                times = np.where(same, times[:, 0], np.prod(times, axis=1))
            return np.repeat(np.arange(len(times)), times)

    drawn_values: list[Any] = []
    while len(drawn_values) < num_resamples:
        rows = draw()
        if np.any(is_target[rows]) and not np.all(is_target[rows]):
            value = measure(scores[rows], is_target[rows])
            drawn_values.append(value[0] if isinstance(value, tuple) else value)
    values = arrays.numbers("measure", drawn_values, 1, "(num_resamples,)")
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _groups(groups: Any, num_trials: int) -> tuple[np.ndarray, int]:
    """Numbers the groups from 0; returns them and their count."""
    groups = arguments.array("groups", groups)
    shapes = ((num_trials,), (num_trials, 2))
    if groups.dtype.kind not in "iu" or groups.shape not in shapes:
        raise ValueError(
            "`groups` must be integers, one or two per trial, of shape "
            f"{shapes[0]} or {shapes[1]}; received dtype {groups.dtype} and "
            f"shape {groups.shape}. np.unique(ids, return_inverse=True)[1] "
            "turns other ids into integers."
        )
    ids, numbers = np.unique(groups, return_inverse=True)
    if len(ids) == 1:
        raise ValueError(
            "`groups` must contain at least two groups; received only "
            f"{ids[0]}, so nothing can be resampled. Leave out `groups` "
            "to resample trials."
        )
    return numbers.reshape(groups.shape), len(ids)


def _require_two_to_differ(groups: np.ndarray, is_target: np.ndarray) -> None:
    """Raises unless one of two groups, drawn twice, is a resample.

    A resample needs targets and nontargets. Between the two classes of the
    pairs of examples are all nontargets, so both must be drawn, once each.
    """
    sides = groups.reshape(len(groups), -1)
    for group in (0, 1):
        kinds = is_target[np.all(sides == group, axis=1)]
        if np.any(kinds) and not np.all(kinds):
            return
    raise ValueError(
        "`groups` must contain at least three groups, or two of which one "
        "alone has targets and nontargets; received two, of which neither "
        "has both, so every resample would be the original and the interval "
        "would have no width. Use trials of more groups, and of five or more "
        "for an interval that means something."
    )
