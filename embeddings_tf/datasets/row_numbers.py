"""Indices of examples that are read when needed."""

import numpy as np

from embeddings_tf.ops.arguments import array


def row_numbers(index, length: int, *, slices: bool = True) -> np.ndarray:
    """Row numbers from 0 that an index selects.

    Args:
        index: An integer, an integer vector or a slice. Negative integers
            count from the end.
        length: Number of rows.
        slices: Whether slices are accepted.

    Returns:
        An integer array: a scalar for an integer, else a vector.

    Raises:
        TypeError: If the index has another type.
        IndexError: If the index is out of range.
    """
    if slices and isinstance(index, slice):
        index = np.arange(length)[index]
    index = array("indices", index)
    if index.dtype.kind not in "iu" or index.ndim > 1:
        raise TypeError(
            "expected an integer, an integer vector"
            f"{' or a slice' * slices}; received shape {index.shape} and "
            f"dtype {index.dtype}. Use integers, or take(indices) if the set "
            "has it."
        )
    if index.size and not (-length <= index.min() and index.max() < length):
        raise IndexError(
            f"indices must be in 0..{length - 1}; received "
            f"{index.min()} to {index.max()}."
        )
    index = index.astype(np.int64)  # int8 plus the length may overflow
    return np.where(index < 0, index + length, index)


def taken_rows(indices, length: int, rows: str) -> np.ndarray:
    """Row numbers that the argument of a method `take` selects.

    Args:
        indices: An integer vector, or a boolean for each row.
        length: Number of rows.
        rows: What the rows are, for messages.

    Returns:
        An integer vector.

    Raises:
        ValueError: If the indices have another type or shape.
        IndexError: If an index is out of range.
    """
    indices = array("indices", indices)
    if indices.dtype == bool and indices.shape == (length,):
        indices = np.flatnonzero(indices)
    if indices.size == 0:
        indices = indices.astype(np.int64)
    if indices.dtype.kind not in "iu" or indices.ndim != 1:
        raise ValueError(
            f"indices must be integers of shape ({rows},), or bool for all "
            f"{length}; received shape {indices.shape} and dtype "
            f"{indices.dtype}."
        )
    return row_numbers(indices, length)
