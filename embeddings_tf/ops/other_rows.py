"""Removes queries from the rows that they find."""

import numpy as np


def other_rows(found: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Returns the rows that queries find apart from their own.

    Args:
        found: The nearest rows to each query, nearest first,
            `(n, count + 1)`.
        rows: The row of each query, `(n,)`.

    Returns:
        The nearest other rows, `(n, count)`.
    """
    is_other = found != rows[:, None]
    # Enough equal rows hide the query's own row; then the last is surplus.
    is_other[is_other.all(axis=1), -1] = False
    return found[is_other].reshape(len(rows), found.shape[1] - 1)
