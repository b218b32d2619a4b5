"""Numbers classes by their sorted names."""

import numpy as np


def number_names(names: np.ndarray) -> np.ndarray:
    """Returns the position of each name among the sorted names, `int32`."""
    return np.unique(names, return_inverse=True)[1].ravel().astype(np.int32)


def joined(factors: np.ndarray) -> np.ndarray:
    """Returns one name per row of factors `(n, factors)`: "value,value"."""
    return np.array([",".join(map(str, row)) for row in factors], np.str_)
