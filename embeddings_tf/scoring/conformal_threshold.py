"""Thresholds that promise a false-accept rate for classes not enrolled."""

import numpy as np


def smallest_rate(num_classes: int) -> float:
    """The smallest false-accept rate that so many classes can promise."""
    return 1 / (num_classes + 1)


def conformal_threshold(scores, class_ids, false_accept_rate: float) -> float:
    """Returns the smallest threshold with the promised false-accept rate.

    Conformal risk control over classes (Angelopoulos et al., 2022): with
    calibration classes 1..N that are not enrolled, and `r_c(t)` the share of
    class c with scores of at least t,

    ```
    threshold = smallest t with (1 + sum over c of r_c(t)) / (N + 1) <= rate
    ```

    Args:
        scores: Scores of calibration examples `(n,)`, higher is accepted.
        class_ids: Their classes `(n,)`.
        false_accept_rate: The rate, less than 1.

    Raises:
        ValueError: If the rate is below `smallest_rate`.
    """
    scores = np.asarray(scores, np.float64)
    _, numbers, counts = np.unique(
        class_ids, return_inverse=True, return_counts=True
    )
    num_classes = len(counts)
    if false_accept_rate < smallest_rate(num_classes) * (1 - 1e-9):
        raise ValueError(
            f"{num_classes} calibration classes can promise a false-accept "
            f"rate of {smallest_rate(num_classes):.4f} or more, 1 / (classes + "
            f"1); received {false_accept_rate}. Calibrate on at least "
            f"{int(np.ceil(1 / false_accept_rate - 1e-9)) - 1} classes, or "
            "choose a larger rate."
        )
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    accepted = np.cumsum(1 / counts[numbers[order]])
    # Equal scores are accepted together.
    last = np.append(falling[1:] != falling[:-1], True)
    budget = false_accept_rate * (num_classes + 1) - 1 + 1e-9
    rejected = np.flatnonzero(last & (accepted > budget))
    if not len(rejected):
        return -np.inf
    return float(np.nextafter(falling[rejected[0]], np.inf))
