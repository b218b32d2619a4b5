"""A fitted calibration as plain data, and its file."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from embeddings_tf.ops import arguments
from embeddings_tf.ops.write_atomically import write_atomically


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
            f"{found!r}. Save the calibration again, or load it with its class."
        )
    return values


def write(path, values: Mapping) -> None:
    """Writes a JSON file: a reader sees all of it or none."""
    path = arguments.path("path", path)
    text = json.dumps(values, indent=2, allow_nan=False)
    write_atomically(path, text + "\n")


def read(path) -> Any:
    """Returns the content of a JSON file.

    Raises:
        ValueError: If the file is damaged.
        OSError: If it cannot be read.
    """
    path = arguments.path("path", path)
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise ValueError(
            f"{path} must be a file written by `save`; received damaged "
            f"content ({error}). Save the calibration again."
        ) from error
