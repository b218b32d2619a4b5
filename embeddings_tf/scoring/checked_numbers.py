"""Checks of scores, and of the numbers of a fitted calibration."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from embeddings_tf.ops import arguments


def scores_of(scores: Any) -> np.ndarray:
    """Returns scores of any shape as float64.

    Raises:
        ValueError: If they are not real numbers, or NaN.
    """
    array = arguments.array("scores", scores)
    if array.dtype.kind == "c" or not np.can_cast(array.dtype, np.float64):
        raise ValueError(
            f"`scores` must be real numbers; received dtype {array.dtype}."
        )
    array = array.astype(np.float64)
    if not np.isfinite(array).all():
        raise ValueError(
            "`scores` must be finite; received "
            f"{array[~np.isfinite(array)][0]}. Find the cause first."
        )
    return array


def checked(values: Any, kind: str, names: tuple[str, ...]) -> Mapping:
    """Returns the values of a calibration of this kind.

    Raises:
        ValueError: If it is of another kind or lacks a value.
    """
    found = values.get("kind") if isinstance(values, Mapping) else None
    if found != kind or any(name not in values for name in names):
        raise ValueError(
            f"`values` must be {kind}, with {', '.join(names)}; received kind "
            f"{found!r}. Save the values again, or load them with their class."
        )
    return values
