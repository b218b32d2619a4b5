"""Numbers classes by their sorted names."""

import numpy as np


def number_names(names: np.ndarray) -> np.ndarray:
    """Returns the position of each name among the sorted names, `int32`."""
    return np.unique(names, return_inverse=True)[1].ravel().astype(np.int32)


def joined(factors: np.ndarray) -> np.ndarray:
    """Returns one name per row of factors `(n, factors)`: "value,value".

    Raises:
        ValueError: If different rows get the same name.
    """
    rows = [tuple(map(str, row)) for row in factors]
    names = [",".join(row) for row in rows]
    row_of = dict(zip(names, rows, strict=True))
    for name, row in zip(names, rows, strict=True):
        if row_of[name] != row:
            raise ValueError(
                f"The labels {row} and {row_of[name]} would both be the class "
                f"{name!r}. Replace the commas in one of them."
            )
    return np.array(names, np.str_)
