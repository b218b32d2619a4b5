"""Verification metrics: how well scores separate two kinds of trials."""

from typing import Any

import numpy as np

from embeddings_tf.metrics.operating_points import OperatingPoints
from embeddings_tf.metrics.operating_points import trials_of_both_kinds
from embeddings_tf.metrics.points_of_scores import points_near_equal_errors
from embeddings_tf.metrics.points_of_scores import points_of_scores


def equal_error_rate(scores: Any, is_target: Any) -> tuple[float, float]:
    """Equal error rate (EER): where misses and false alarms are equal.

    Use it to describe a verification system by one number, and to choose a
    threshold on validation trials. A trial is accepted when `score >=
    threshold`.

    Formula:

    ```
    miss(t) = targets with score < t / targets
    false_alarm(t) = nontargets with score >= t / nontargets
    EER = the value that both take where they are equal
    ```

    Both rates are step functions of the threshold and may not meet. As in the
    ROC curve of `roc_auc`, straight lines join the operating points
    `(false_alarm(t), miss(t))`, from accepting nothing, `(0, 1)`, to accepting
    everything, `(1, 0)`. The EER is where this curve meets `false_alarm =
    miss`: the error of a random choice between two neighbouring thresholds.
    Trials with equal scores are accepted together. The arithmetic uses
    integers, so the EER is exact.

    Other definitions exist. The mean of both rates at the nearest threshold
    differs by at most half of their gap. The convex hull of the curve gives
    an equal or lower rate.

    For trials that do not fit in memory, use `TrialHistogram`.

    Args:
        scores: `(n,)`, one per trial; larger means more similar. Only the
            order matters. -inf and inf are valid scores. Integers are
            compared exactly.
        is_target: `(n,)` booleans (or 0 and 1), whether the two examples of
            the trial are of the same class.

    Returns:
        The EER, in `[0, 1]`: 0 if all targets score higher than all
        nontargets, 0.5 by chance, 1 if all score lower. And the threshold,
        one of the two scores next to the crossing: the score with the smaller
        difference of both rates (the lower score if they are equal). The
        threshold is a float, or an int for integer scores beyond `2**53`,
        which floats would merge.

    Raises:
        ValueError: If arrays are empty, of the wrong rank or of different
            lengths, if a score is NaN, if `is_target` contains other values
            than 0 and 1, or if one kind of trials is missing.

    Reference:
        - [Fawcett, 2006](https://doi.org/10.1016/j.patrec.2005.10.010), ROC
          curves and ties
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Sec. 4,
          reports EER and 1 - AUC

    Example:

    >>> scores, is_target = [0.9, 0.8, 0.4, 0.6, 0.3, 0.1], [1, 1, 1, 0, 0, 0]
    >>> embeddings_tf.metrics.equal_error_rate(scores, is_target)
    (0.3333333333333333, 0.6)
    """
    scores, is_target = trials_of_both_kinds(scores, is_target)
    return points_near_equal_errors(scores, is_target).equal_error_rate()[:2]


def roc_auc(scores: Any, is_target: Any) -> float:
    """Area under the ROC curve: P(a target scores above a nontarget).

    Use it to compare scores over all thresholds. `1 - roc_auc` is often
    reported as an error together with the EER.

    Formula:

    ```
    AUC = (pairs with target > nontarget + pairs with equal scores / 2) / pairs
    ```

    over all pairs of a target and a nontarget trial. This is the exact area
    under the ROC curve with operating points joined by straight lines.

    Args:
        scores, is_target: As in `equal_error_rate`, `(n,)`.

    Returns:
        A float in `[0, 1]`: 1 if all targets score higher than all
        nontargets, 0.5 by chance.

    Raises:
        ValueError: As `equal_error_rate`.

    Reference:
        - [Hanley & McNeil, 1982](https://doi.org/10.1148/radiology.143.1.7063747)

    Example:

    >>> embeddings_tf.metrics.roc_auc([3.0, 2.0, 2.0, 1.0], [1, 1, 0, 0])
    0.875
    """
    return operating_points(scores, is_target).roc_auc()[0]


def min_dcf(
    scores: Any,
    is_target: Any,
    target_prior: float = 0.01,
    miss_cost: float = 1,
    false_alarm_cost: float = 1,
) -> float:
    """Minimum detection cost (minDCF) of verification, over all thresholds.

    Use it if targets are rare or the two errors have different costs; the
    EER ignores costs. The threshold is chosen on the measured trials, so the
    cost is a lower limit for a threshold chosen in advance.

    Formula:

    ```
    cost(t) = miss_cost target_prior miss(t)
              + false_alarm_cost (1 - target_prior) false_alarm(t)
    minDCF = min over t of cost(t)
             / min(miss_cost target_prior, false_alarm_cost (1 - target_prior))
    ```

    with `miss` and `false_alarm` as in `equal_error_rate`. The false-alarm rate
    is the false-accept rate of `error_rates`. The thresholds include accepting
    nothing and accepting everything. The denominator (NIST's) is the lower cost
    of these two, so 1 is the cost of ignoring the scores. NIST's primary
    cost is the mean of minDCF at two priors, 0.01 and 0.005 in 2016 and 2018.

    Args:
        scores, is_target: As in `equal_error_rate`, `(n,)`.
        target_prior: Frequency of targets in use (not in these trials),
            between 0 and 1.
        miss_cost, false_alarm_cost: Positive costs of the two errors.

    Returns:
        A float in `[0, 1]`: 0 if all targets score higher than all
        nontargets, 1 if the scores are useless at this prior.

    Raises:
        ValueError: As `equal_error_rate`, or if the prior or a cost is out of
            range.

    Reference:
        - [van Leeuwen & Brummer, 2007](https://doi.org/10.1007/978-3-540-74200-5_19)

    Example:

    >>> scores, is_target = [4.0, 3.0, 2.0, 1.0], [1, 0, 1, 0]
    >>> embeddings_tf.metrics.min_dcf(scores, is_target, target_prior=0.5)
    0.5
    """
    points = operating_points(scores, is_target)
    return points.min_dcf(target_prior, miss_cost, false_alarm_cost)[0]


def det_curve(scores: Any, is_target: Any) -> dict[str, np.ndarray]:
    """Misses against false alarms at every threshold, for a DET curve.

    Use it to see the whole trade-off; the EER is one point of it. A detection
    error trade-off (DET) curve has both axes on the scale of
    `scipy.stats.norm.ppf`. Gaussian scores give a straight line on this scale,
    and rates of 0 and 1 are infinitely far away. The false-alarm rate is the
    false-accept rate of `error_rates` and `threshold_at_false_accept_rate`.

    Args:
        scores, is_target: As in `equal_error_rate`, `(n,)`.

    Returns:
        A dictionary of arrays with one entry per threshold. `threshold`
        contains the distinct scores in ascending order, then inf; its dtype is
        object if there are integer scores beyond `2**53`. The rates
        `false_alarm`, falling from 1 to 0, and `miss`, rising from 0 to 1, are
        as in `equal_error_rate`. At the last entry nothing is accepted, not
        even a score of inf.

    Raises:
        ValueError: As `equal_error_rate`.

    Reference:
        - [Martin, Doddington, Kamm, Ordowski & Przybocki, 1997](https://www.isca-archive.org/eurospeech_1997/martin97b_eurospeech.html)

    Example:

    >>> curve = embeddings_tf.metrics.det_curve([4.0, 3.0, 1.0], [1, 0, 1])
    >>> curve["threshold"].tolist(), curve["miss"].tolist()
    ([1.0, 3.0, 4.0, inf], [0.0, 0.5, 0.5, 1.0])
    >>> curve["false_alarm"].tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    points = operating_points(scores, is_target)
    return {
        "false_alarm": points.false_alarm[::-1],
        "miss": points.miss[::-1],
        "threshold": points.thresholds[::-1],
    }


def operating_points(scores: Any, is_target: Any) -> OperatingPoints:
    scores, is_target = trials_of_both_kinds(scores, is_target)
    return points_of_scores(scores, np.sort(scores[is_target]))
