"""Calibration of probabilities and uncertainties."""

from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays


def expected_calibration_error(
    probabilities: Any, labels: Any, num_bins: int = 15
) -> float:
    """Expected calibration error (ECE): gap of confidence and accuracy.

    Use it if you show probabilities to people or compare them with a threshold.
    The predicted class is the most probable class (the first one if several
    are equal), and its probability is the confidence. Predictions are grouped
    by confidence into `num_bins` bins of equal width, `(0, 1/num_bins], ...,
    (1 - 1/num_bins, 1]`.

    Formula:

    ```
    ECE = sum over bins of (n_bin / n) |accuracy(bin) - mean confidence(bin)|
    ```

    Args:
        probabilities: `(n, num_classes)`, rows sum to 1.
        labels: The true class of each row, integers `(n,)` in
            `[0, num_classes)`.
        num_bins: Number of bins.

    Returns:
        A float in `[0, 1]`, 0 for perfect calibration. With few examples per
        bin, the estimate is positive even for a calibrated classifier. A
        classifier that is always certain has ECE `1 - accuracy`.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong rank or of
            different lengths, if rows do not sum to 1 or labels are out of
            range.

    Reference:
        - [Guo, Pleiss, Sun & Weinberger, 2017](https://arxiv.org/abs/1706.04599)

    Example:

    >>> embeddings_tf.metrics.expected_calibration_error(
    ...     [[0.75, 0.25]] * 4, [0, 0, 1, 1]
    ... )
    0.25
    """
    curve = reliability_curve(probabilities, labels, num_bins)
    gap = np.abs(curve["accuracy"] - curve["confidence"])
    return float(np.sum(gap * curve["count"]) / np.sum(curve["count"]))


def reliability_curve(
    probabilities: Any, labels: Any, num_bins: int = 15
) -> dict[str, np.ndarray]:
    """Accuracy against confidence, bin by bin, for a reliability diagram.

    Use it to see where a classifier is over- or underconfident: plot
    `accuracy` over `confidence`; a calibrated classifier is on the diagonal.
    Arguments, bins and errors are as in `expected_calibration_error`.

    Returns:
        A dictionary of arrays with one entry per non-empty bin, in ascending
        order: `lower` and `upper` (the limits of the bin), `confidence` and
        `accuracy` (means within the bin, in `[0, 1]`) and `count`.

    Reference:

    - [Guo, Pleiss, Sun & Weinberger, 2017](https://arxiv.org/abs/1706.04599)

    Example:

    >>> curve = embeddings_tf.metrics.reliability_curve(
    ...     [[0.75, 0.25]] * 4, [0, 0, 1, 1], num_bins=10
    ... )
    >>> curve["confidence"], curve["accuracy"], curve["count"]
    (array([0.75]), array([0.5]), array([4]))
    """
    probabilities = arrays.numbers(
        "probabilities", probabilities, 2, "(n, num_classes)"
    )
    labels = arrays.integers("labels", labels, 1, "(n,)")
    arrays.same_length(probabilities=probabilities, labels=labels)
    num_bins = arrays.number_of_bins("num_bins", num_bins)
    probabilities = probabilities.astype(np.float64)
    with np.errstate(over="ignore"):
        gap = np.max(np.abs(np.sum(probabilities, axis=1) - 1))
    # Written so that NaN, from infinite sums, is also refused.
    if not gap <= 0.01 or np.min(probabilities) < -1e-6:
        raise ValueError(
            "`probabilities` must be at least 0 and sum to 1 in each row; "
            f"received a smallest value of {np.min(probabilities):g} and a "
            f"sum {gap:g} away from 1. Apply a softmax (or np.exp to "
            "log-probabilities)."
        )
    num_classes = probabilities.shape[1]
    if np.min(labels) < 0 or np.max(labels) >= num_classes:
        raise ValueError(
            f"`labels` must be columns of `probabilities`, in [0, "
            f"{num_classes}); received labels from {np.min(labels)} to "
            f"{np.max(labels)}. Number the classes like the columns."
        )
    # A row may sum to slightly more than 1.
    confidence = np.minimum(np.max(probabilities, axis=1), 1)
    correct = np.argmax(probabilities, axis=1) == labels
    # Not np.linspace, which may round to a number below k / num_bins.
    edges = np.arange(num_bins + 1) / num_bins
    bins = np.searchsorted(edges[1:-1], confidence, side="left")
    count = np.bincount(bins, minlength=num_bins)
    filled = np.flatnonzero(count)
    count = count[filled]

    def mean(values):
        return np.bincount(bins, values, minlength=num_bins)[filled] / count

    return {
        "lower": edges[filled],
        "upper": edges[filled + 1],
        "confidence": mean(confidence),
        "accuracy": mean(correct),
        "count": count,
    }


def error_versus_reject(uncertainty: Any, is_error: Any) -> dict[str, Any]:
    """Error of the remaining predictions when uncertain ones are rejected.

    Use it to test an uncertainty: if wrong predictions are uncertain, the
    error falls quickly as more predictions are rejected.

    Formula:

    ```
    reject[k] = k / n, for k = 0, ..., n - 1
    error[k] = errors among the n - k least uncertain / (n - k)
    area = mean over k of error[k]
    ```

    Examples of equal uncertainty are rejected in random order; `error` is the
    expectation over this order, so the order of the input does not matter.
    Compare `area` with two references: `oracle_area`, where all errors are
    rejected first, and `random_area`, the error rate, for random rejection.

    Args:
        uncertainty: `(n,)`; larger means less certain. Only the order counts.
        is_error: `(n,)` booleans (or 0 and 1), whether the prediction is
            wrong.

    Returns:
        A dictionary of the arrays `reject` and `error`, `(n,)`, and the
        floats `area`, `oracle_area` and `random_area`, all in `[0, 1]`.
        `oracle_area <= area`, and `area < random_area` if the uncertainty
        helps. Without any error all areas are 0.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong rank or of
            different lengths, or `is_error` contains other values than 0 and
            1.

    Reference:
        - [Nadeem, Zucker & Hanczar, 2009](https://proceedings.mlr.press/v8/nadeem10a.html)

    Example:

    >>> curve = embeddings_tf.metrics.error_versus_reject(
    ...     uncertainty=[0.1, 0.9, 0.2, 0.3], is_error=[0, 1, 0, 0]
    ... )
    >>> curve["error"].tolist(), curve["area"], curve["random_area"]
    ([0.25, 0.0, 0.0, 0.0], 0.0625, 0.25)
    """
    uncertainty = arrays.numbers(
        "uncertainty", uncertainty, 1, "(n,)", ordered=True
    )
    is_error = arrays.booleans("is_error", is_error, 1, "(n,)")
    arrays.same_length(uncertainty=uncertainty, is_error=is_error)
    _, group, size = np.unique(
        uncertainty, return_inverse=True, return_counts=True
    )
    # Within a group of equal uncertainty, each example has the group's rate.
    rate = np.bincount(group, is_error) / size
    error = _error_of_kept(np.repeat(rate, size))
    return {
        "reject": np.arange(len(error)) / len(error),
        "error": error,
        "area": float(np.mean(error)),
        "oracle_area": float(np.mean(_error_of_kept(np.sort(is_error)))),
        "random_area": float(np.mean(is_error)),
    }


def _error_of_kept(is_error: np.ndarray) -> np.ndarray:
    """Error rates of the first n, n - 1, ..., 1 examples."""
    kept = np.arange(1, len(is_error) + 1)
    return (np.cumsum(is_error, dtype=np.float64) / kept)[::-1]
