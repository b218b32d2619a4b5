"""Times in tables: median and quartiles, and the load of the machine."""

import statistics
from collections.abc import Sequence


def summary(seconds: Sequence[float]) -> dict:
    """Returns what result files keep of the seconds of many runs."""
    return {
        "median_seconds": statistics.median(seconds),
        "quartiles_seconds": quartiles(seconds),
        "fastest_seconds": min(seconds),
    }


def quartiles(seconds: Sequence[float]) -> list[float]:
    """Returns the first and the third quartile; the value itself of one."""
    if len(seconds) < 2:
        return [*seconds] * 2
    return statistics.quantiles(seconds, method="inclusive")[::2]


def cell(found: dict | Sequence[float], factor: float, digits: int) -> str:
    """`median (first to third quartile)`.

    Args:
        found: Seconds, or the fields of `summary`; older results have the
            median only.
        factor: 1000 for milliseconds.
        digits: Digits after the point.
    """
    if not isinstance(found, dict):
        found = summary(found)
    text = f"{factor * found['median_seconds']:.{digits}f}"
    if "quartiles_seconds" not in found:
        return text
    low, high = (factor * end for end in found["quartiles_seconds"])
    return f"{text} ({low:.{digits}f} to {high:.{digits}f})"


def load_of(result: dict) -> str:
    """`load 0.6 before`, or after; the mean of running processes."""
    if "load_average_before" in result:
        return f"load {result['load_average_before']:.1f} before"
    if "load" in result:
        return f"load {result['load']:.1f} after"
    return "load not recorded"
