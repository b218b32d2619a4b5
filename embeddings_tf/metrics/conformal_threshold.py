"""Thresholds that promise a false-accept rate for classes not enrolled."""

from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import number_between
from embeddings_tf.ops.counted import counted

# Relative error of sums of shares.
_ROUNDING = 1e-9


def conformal_threshold(
    scores: Any, classes: Any, false_accept_rate: float
) -> dict[str, Any]:
    """Threshold with a promised false-accept rate for unknown classes.

    Use it if inputs may be of classes that are not enrolled: an input is
    accepted if its score reaches the threshold. The promise is for a new class
    that is exchangeable with the calibration classes, and it is an average
    over classes: with probability at most `false_accept_rate`, a random example
    of a new class is accepted. It needs no assumption about the scores. A
    single class may be accepted more often.

    Calibration classes must not be enrolled, and the model must not have been
    trained on them. Examples of one class are not independent, so the statistic
    of a class is its accepted share, and only classes are exchanged.

    Formula, with N calibration classes and the share `r_c(t)` of the examples
    of class c with scores of at least t (conformal risk control; with one
    example per class it is split conformal prediction):

    ```
    threshold = smallest t with (1 + sum over c of r_c(t)) / (N + 1)
                <= false_accept_rate
    ```

    Args:
        scores: `(n,)`, of examples of the calibration classes; larger means
            more similar to the enrolled classes.
        classes: `(n,)` integers or strings, the class of each example.
        false_accept_rate: The promised rate, at least `1 / (N + 1)`, below 1.

    Returns:
        A dictionary: `threshold` (accept when `score >= threshold`),
        `false_accept_rate`, the promise, `calibration_rate`, the mean over
        calibration classes of the accepted share, and `num_classes`, N.

    Raises:
        ValueError: If arrays are empty, of the wrong rank or of different
            lengths, if a score is not finite, or if the rate is below
            `1 / (N + 1)`, which no threshold can promise.

    Reference:
        - [Vovk, Gammerman & Shafer, 2005](https://doi.org/10.1007/b106715)
        - [Angelopoulos, Bates, Fisch, Lei & Schuster, 2022](https://arxiv.org/abs/2208.02814)

    Example:

    >>> found = embeddings_tf.metrics.conformal_threshold(
    ...     [0.1, 0.3, 0.2, 0.9, 0.4, 0.5],
    ...     ["a", "a", "b", "b", "c", "c"],
    ...     false_accept_rate=0.4,
    ... )
    >>> found["threshold"] > 0.5, round(found["calibration_rate"], 3)
    (True, 0.167)
    """
    given, scores = scores, arrays.numbers("scores", scores, 1, "(n,)")
    dtype = arrays.compared_dtype(given, scores)
    numbers, counts = arrays.numbered_classes("classes", classes)
    arrays.same_length(scores=scores, classes=numbers)
    rate = number_between("false_accept_rate", false_accept_rate, 0, 1)
    num_classes = len(counts)
    if rate * (num_classes + 1) < 1 - _ROUNDING:
        smallest = arrays.rounded_up(1 / (num_classes + 1))
        number = counted(
            num_classes, "calibration class", "calibration classes"
        )
        raise ValueError(
            f"`false_accept_rate` must be at least 1 / (classes + 1), "
            f"{smallest} with {number}; received {false_accept_rate}. "
            "Calibrate on at least "
            f"{int(np.ceil(1 / rate - _ROUNDING)) - 1} classes, or choose a "
            "larger rate."
        )
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    accepted = np.cumsum(1 / counts[numbers[order]])
    # Equal scores are accepted together.
    last = np.append(falling[1:] != falling[:-1], True)
    budget = rate * (num_classes + 1) - 1 + _ROUNDING
    refused = falling[last & (accepted > budget)]
    # In the dtype of the scores, because rounding might accept one more.
    threshold = (
        arrays.just_above(refused[0], dtype) if len(refused) else falling[-1]
    )
    shares = np.bincount(numbers, scores >= threshold) / counts
    return {
        "threshold": float(threshold),
        "false_accept_rate": rate,
        "calibration_rate": float(np.mean(shares)),
        "num_classes": num_classes,
    }
