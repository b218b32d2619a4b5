"""Finds NaN and infinity in arrays."""

import numpy as np


def first_not_finite(rows: np.ndarray) -> int | None:
    """Returns the number of the first row with NaN or infinity, if any."""
    # The kind of bfloat16 and of float8 is V.
    if rows.dtype.kind not in "fc" and "float" not in rows.dtype.name:
        return None
    finite = np.isfinite(rows)
    if finite.all():
        return None
    return int(finite.reshape(len(rows), -1).all(axis=1).argmin())
