"""Refuses to use an object before its `fit`."""

from typing import TypeVar

T = TypeVar("T")


def require_fitted(value: T | None, name: str, call: str) -> T:
    """Returns what a fit has set.

    Args:
        value: The fitted value, or None before the fit.
        name: What is fitted, with its article: `"The gallery"`.
        call: The call that fits it.

    Raises:
        ValueError: If `value` is None.
    """
    if value is None:
        raise ValueError(f"{name} is not fitted yet: call {call} first.")
    return value
