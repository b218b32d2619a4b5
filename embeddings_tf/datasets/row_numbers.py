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
