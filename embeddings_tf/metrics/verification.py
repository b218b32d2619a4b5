"""Whether a score tells if two examples are of the same class."""

from collections.abc import Callable
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.operating_points import OperatingPoints
from embeddings_tf.metrics.operating_points import trials
from embeddings_tf.ops import arguments
from embeddings_tf.ops.arguments import number_between
from embeddings_tf.ops.arguments import positive_integer


def equal_error_rate(scores: Any, is_target: Any) -> tuple[float, float]:
    """The error of verification where misses and false alarms are equal.

    Use it to sum up a verification system in one number, and to pick a
    threshold on validation trials. A trial is accepted when `score >=
    threshold`.

    Formula:

    ```
    miss(t) = targets with score < t / targets
    false_alarm(t) = nontargets with score >= t / nontargets
    EER = the value that both take where they are equal
    ```

    From finitely many trials both are step functions, which need not meet.
    The operating points `(false_alarm(t), miss(t))` of all thresholds, from
    accepting nothing, `(0, 1)`, to accepting everything, `(1, 0)`, are joined
    by straight lines, as in the ROC curve whose area is `roc_auc`, and the EER
    is where this curve meets `false_alarm = miss`: the error of choosing at
    random between two neighbouring thresholds. Trials of the same score are
    accepted together. The arithmetic is in integers, so the EER is exact. The
    mean of both rates at the nearest threshold, which is also called EER,
    differs by at most half the gap between them; the convex hull of the curve
    gives a rate no higher than this one.

    For trials that do not fit in memory there is `TrialHistogram`.

    Reference:

    - [Fawcett, 2006](https://doi.org/10.1016/j.patrec.2005.10.010), ROC curves
      and ties
    - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Sec. 4, reports
      EER and 1 - AUC

    Args:
        scores: `(n,)`, one per trial; the larger, the more the same. Only the
            order matters. -inf and inf are scores like others, and integers
            are compared as such, exactly.
        is_target: `(n,)` booleans (or 0 and 1), whether the two examples of
            the trial are of the same class.

    Returns:
        The EER, in `[0, 1]`: 0 if all targets score higher than all
        nontargets, 0.5 by chance, 1 if all score lower. And the threshold: of
        the two scores next to the crossing, the one at which misses and false
        alarms differ least (of equals the lower). It is a float, or an int if
        there are integer scores beyond `2**53`, which floats would tie.

    Raises:
        ValueError: If arrays are empty, of the wrong rank or of different
            lengths, if a score is NaN, if `is_target` holds anything but 0 and
            1, or if there are not both kinds of trials.

    Example:

    >>> scores, is_target = [0.9, 0.8, 0.4, 0.6, 0.3, 0.1], [1, 1, 1, 0, 0, 0]
    >>> embeddings_tf.metrics.equal_error_rate(scores, is_target)
    (0.3333333333333333, 0.6)
    """
    return _operating_points(scores, is_target).equal_error_rate()[:2]


def roc_auc(scores: Any, is_target: Any) -> float:
    """The probability that a target scores higher than a nontarget.

    Use it to compare scores over all thresholds; `1 - roc_auc` is often
    printed as an error beside the EER.

    Formula:

    ```
    AUC = (pairs with target > nontarget + pairs with equal scores / 2) / pairs
    ```

    over all pairs of a target and a nontarget trial: the area under the ROC
    curve, its operating points joined by straight lines. Exact.

    Reference:

    - [Hanley & McNeil, 1982](https://doi.org/10.1148/radiology.143.1.7063747)

    Args:
        scores, is_target: As in `equal_error_rate`, `(n,)`.

    Returns:
        A float in `[0, 1]`: 1 if all targets score higher than all
        nontargets, 0.5 by chance.

    Raises:
        ValueError: As `equal_error_rate`.

    Example:

    >>> embeddings_tf.metrics.roc_auc([3.0, 2.0, 2.0, 1.0], [1, 1, 0, 0])
    0.875
    """
    return _operating_points(scores, is_target).roc_auc()[0]


def min_dcf(
    scores: Any,
    is_target: Any,
    target_prior: float = 0.01,
    miss_cost: float = 1,
    false_alarm_cost: float = 1,
) -> float:
    """The expected cost of verification at the best of all thresholds.

    Use it where targets are rare or the two errors are not equally bad: the
    EER is the same whatever they cost. The threshold is chosen on the very
    trials that are measured, so this is what the scores could do, were the
    threshold known.

    Formula:

    ```
    cost(t) = miss_cost target_prior miss(t)
              + false_alarm_cost (1 - target_prior) false_alarm(t)
    minDCF = min over t of cost(t)
             / min(miss_cost target_prior, false_alarm_cost (1 - target_prior))
    ```

    with `miss` and `false_alarm` as in `equal_error_rate`, over all thresholds,
    accepting nothing and everything included. The denominator, NIST's, is the
    cost of the better of these two, so 1 is the cost of not looking at the
    scores. NIST's primary cost is the mean of this at two priors, 0.01 and
    0.005 in 2016 and 2018.

    Reference:

    - [van Leeuwen & Brummer, 2007](https://doi.org/10.1007/978-3-540-74200-5_19)

    Args:
        scores, is_target: As in `equal_error_rate`, `(n,)`.
        target_prior: How frequent targets are in use (not in these trials),
            between 0 and 1.
        miss_cost, false_alarm_cost: What either error costs, positive.

    Returns:
        A float in `[0, 1]`: 0 if all targets score higher than all
        nontargets, 1 if the scores are of no use at this prior.

    Raises:
        ValueError: As `equal_error_rate`, or if the prior or a cost is out of
            range.

    Example:

    >>> scores, is_target = [4.0, 3.0, 2.0, 1.0], [1, 0, 1, 0]
    >>> embeddings_tf.metrics.min_dcf(scores, is_target, target_prior=0.5)
    0.5
    """
    points = _operating_points(scores, is_target)
    return points.min_dcf(target_prior, miss_cost, false_alarm_cost)[0]


def det_curve(scores: Any, is_target: Any) -> dict[str, np.ndarray]:
    """Misses against false alarms at every threshold, for a DET curve.

    Use it to see the trade-off that the EER is one point of. A detection error
    trade-off (DET) curve has both axes on the scale of
    `scipy.stats.norm.ppf`, where Gaussian scores give a straight line; rates
    of 0 and 1 are infinitely far away there.

    Reference:

    - [Martin, Doddington, Kamm, Ordowski & Przybocki, 1997](https://www.isca-archive.org/eurospeech_1997/martin97b_eurospeech.html)

    Args:
        scores, is_target: As in `equal_error_rate`, `(n,)`.

    Returns:
        A dictionary of arrays with one entry per threshold: `threshold`, the
        distinct scores in ascending order and then inf (of dtype object if
        there are integer scores beyond `2**53`), and the rates
        `false_alarm`, falling from 1 to 0, and `miss`, rising from 0 to 1, both
        as in `equal_error_rate`. The last entry stands for accepting nothing,
        not even a score of inf.

    Raises:
        ValueError: As `equal_error_rate`.

    Example:

    >>> curve = embeddings_tf.metrics.det_curve([4.0, 3.0, 1.0], [1, 0, 1])
    >>> curve["threshold"].tolist(), curve["miss"].tolist()
    ([1.0, 3.0, 4.0, inf], [0.0, 0.5, 0.5, 1.0])
    >>> curve["false_alarm"].tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    points = _operating_points(scores, is_target)
    return {
        "false_alarm": points.false_alarm[::-1],
        "miss": points.miss[::-1],
        "threshold": points.thresholds[::-1],
    }


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
    """Confidence interval of a measure of verification, by resampling.

    Use it to print how far a measure would move had other trials been drawn.
    What is drawn must be independent, and trials are not: those of one speaker
    (or class) are hard or easy together, and every speaker is in many trials.
    So pass the two speakers of every trial as `groups`. Without `groups` the
    interval is right only if no speaker is in two trials; otherwise it speaks
    of other recordings of exactly these speakers at best, and is too narrow,
    often by far.

    Formula:

    ```
    interval = quantiles (1 - level) / 2 and (1 + level) / 2 of the measure
               over num_resamples resamples
    ```

    (the percentile bootstrap). A resample has, without `groups`, as many
    targets drawn from the targets, and nontargets from the nontargets, with
    replacement. With `groups` as many groups are drawn as there are, with
    replacement, and a trial is repeated

    - `(n,)`: as often as its group was drawn (subsets bootstrap);
    - `(n, 2)`: as often as its group was drawn if both sides are of the same,
      and else the product of how often either was drawn, as in the list of all
      trials among the drawn speakers.

    Draws without any target or nontarget trial are drawn again. The time is
    that of `num_resamples` calls of the measure.

    Reference:

    - [Efron & Tibshirani, 1986](https://doi.org/10.1214/ss/1177013815)
    - [Bolle, Ratha & Pankanti, 2004](https://doi.org/10.1016/j.cviu.2003.08.002),
      the subsets bootstrap

    Args:
        measure: Function of `(scores, is_target)` that returns a number, or a
            tuple that begins with it: `equal_error_rate`, `roc_auc`,
            `functools.partial(min_dcf, target_prior=0.05)`.
        scores, is_target: As in `equal_error_rate`, `(n,)`.
        groups: None, or integers `(n,)` or `(n, 2)`: the class of each trial,
            for instance the enrolled one, or of both of its sides.
        level: Probability that the interval covers the measure, between 0 and
            1. With few groups the interval is too narrow.
        num_resamples: Number of resamples; more make the ends steadier.
        seed: Draws the resamples; the same seed gives the same interval.

    Returns:
        The lower and the upper end.

    Raises:
        ValueError: As `equal_error_rate`, or if `groups` are not integers of
            one of these shapes or all the same, the level is not between 0
            and 1, the seed is no integer of at least 0, or the measure is not
            a function or returns anything but finite numbers.

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
    scores, is_target = trials(scores, is_target)
    _operating_points(scores, is_target)  # refuses a single kind of trials
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

        def draw():
            drawn = rng.integers(num_groups, size=num_groups)
            times = np.bincount(drawn, minlength=num_groups)[groups]
            if times.ndim == 2:
                same = groups[:, 0] == groups[:, 1]
                times = np.where(same, times[:, 0], np.prod(times, axis=1))
            return np.repeat(np.arange(len(times)), times)

    values = []
    while len(values) < num_resamples:
        rows = draw()
        if np.any(is_target[rows]) and not np.all(is_target[rows]):
            value = measure(scores[rows], is_target[rows])
            values.append(value[0] if isinstance(value, tuple) else value)
    values = arrays.numbers("measure", values, 1, "(num_resamples,)")
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _operating_points(scores: Any, is_target: Any) -> OperatingPoints:
    scores, is_target = trials(scores, is_target)
    thresholds = distinct = np.unique(scores)
    if arrays.beyond_float64(thresholds).any():
        thresholds = thresholds.astype(object)

    def accepted(kind):
        below = np.searchsorted(np.sort(kind), distinct, side="left")
        return np.append(0, (len(kind) - below)[::-1])

    return OperatingPoints(
        np.append(np.inf, thresholds[::-1]),
        accepted(scores[is_target]),
        accepted(scores[~is_target]),
    )


def _groups(groups: Any, num_trials: int) -> tuple[np.ndarray, int]:
    """Groups numbered from 0, and how many there are."""
    try:
        groups = np.asarray(groups)
    except ValueError:  # lists of different lengths
        groups = np.array(None)
    shapes = ((num_trials,), (num_trials, 2))
    if groups.dtype.kind not in "iu" or groups.shape not in shapes:
        raise ValueError(
            "`groups` must be integers, one or two per trial, of shape "
            f"{shapes[0]} or {shapes[1]}; received dtype {groups.dtype} and "
            f"shape {groups.shape}. Turn other ids into integers by "
            "np.unique(ids, return_inverse=True)[1]."
        )
    ids, numbers = np.unique(groups, return_inverse=True)
    if len(ids) == 1:
        raise ValueError(
            "`groups` must hold at least two groups; received only "
            f"{ids[0]}, which leaves nothing to draw from. Leave out `groups` "
            "to resample trials."
        )
    return numbers.reshape(groups.shape), len(ids)
