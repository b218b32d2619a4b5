"""Checks of constructor arguments, with one wording for all classes."""

import math
import numbers
import operator


def positive_integer(name: str, value) -> int:
    """`value` as an int; ValueError unless it is a whole number >= 1."""
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1 or isinstance(value, bool):
        raise ValueError(
            f"`{name}` must be an integer of at least 1; received {value!r}."
        )
    return number


def number_at_least(name: str, value, minimum: float) -> float:
    """`value` as a float; ValueError unless it is finite and >= minimum."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value < minimum:
        raise ValueError(
            f"`{name}` must be a finite number of at least {minimum}; "
            f"received {value!r}."
        )
    return float(value)


def number_between(name: str, value, low: float, high: float) -> float:
    """`value` as a float; ValueError unless it is inside (low, high)."""
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not is_number or not low < value < high:
        raise ValueError(
            f"`{name}` must be between {low} and {high}; received {value!r}."
        )
    return float(value)


def one_of(name: str, value, choices: tuple):
    """`value` itself; ValueError unless it is among `choices`."""
    if value not in choices:
        raise ValueError(
            f"`{name}` must be one of {', '.join(map(repr, choices))}; "
            f"received {value!r}."
        )
    return value
