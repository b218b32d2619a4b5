"""Checks of the arrays that metrics receive, with one wording for all."""

from typing import Any

import numpy as np


def numbers(
    name: str, value: Any, ndim: int, shape: str, infinite: bool = False
) -> np.ndarray:
    """`value` as float32 or float64 of rank `ndim`, non-empty and finite.

    `infinite` lets -inf and inf through, and refuses NaN only.
    """
    array = _shaped(name, value, ndim, shape)
    if array.dtype not in (np.float32, np.float64):
        wide = array.dtype.kind in "biu"
        try:
            array = array.astype(np.float64 if wide else np.float32)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"`{name}` must be numbers; received dtype {array.dtype}. "
                "Convert it to floating point first."
            ) from error
    refused = np.isnan(array) if infinite else ~np.isfinite(array)
    if refused.any():
        where = tuple(map(int, np.argwhere(refused)[0]))
        expected = "not be NaN" if infinite else "be finite"
        raise ValueError(
            f"`{name}` must {expected}; received {array[where]} at {where}. "
            "Look for what produced it, or drop these rows."
        )
    return array


def booleans(name: str, value: Any, ndim: int, shape: str) -> np.ndarray:
    """`value`, booleans or 0 and 1 of rank `ndim`, non-empty, as booleans."""
    array = _shaped(name, value, ndim, shape)
    if array.dtype == bool:
        return array
    refused = ~np.isin(array, (0, 1))
    if refused.any():
        raise ValueError(
            f"`{name}` must hold booleans, or 0 and 1; received "
            f"{array[refused][0]}. Pass the outcome of a comparison such as "
            "`==` or `!=`."
        )
    return array.astype(bool)


def integers(name: str, value: Any, ndim: int, shape: str) -> np.ndarray:
    """`value` as integers of rank `ndim`, non-empty."""
    array = _shaped(name, value, ndim, shape)
    if array.dtype.kind not in "iu":
        raise ValueError(
            f"`{name}` must be integers; received dtype {array.dtype}. Turn "
            "other ids into integers by "
            "np.unique(ids, return_inverse=True)[1]."
        )
    return array


def same_length(**arrays: np.ndarray) -> None:
    """ValueError unless all arrays have the same number of rows."""
    if len({len(array) for array in arrays.values()}) > 1:
        lengths = ", ".join(
            f"{len(array)} rows of `{name}`" for name, array in arrays.items()
        )
        raise ValueError(
            f"Row i of every array must be about example i; received {lengths}."
            " Pass arrays of the same length."
        )


def _shaped(name: str, value: Any, ndim: int, shape: str) -> np.ndarray:
    array = np.asarray(value)
    if array.ndim != ndim or not array.size:
        raise ValueError(
            f"`{name}` must have shape {shape} and not be empty; received "
            f"shape {array.shape}. Reshape or select what you pass."
        )
    return array
