"""The standard error of a mean over folds or seeds."""

import statistics


def standard_error(values: list[float]) -> float | None:
    """Returns the standard error of the mean; None for a single fold."""
    if len(values) < 2:
        return None
    return statistics.stdev(values) / len(values) ** 0.5
