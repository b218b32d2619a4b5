"""Arrays of images whose values are not pixels."""

import warnings

import numpy as np


def beyond_pixels(x) -> list[str]:
    """Returns a warning of arrays of images without pixels of 0 to 255.

    Images that are read when they are needed have such pixels.
    """
    if not isinstance(x, np.ndarray) or x.ndim != 4 or not x.size:
        return []
    least, largest = np.min(x), np.max(x)
    if least >= 0 and largest <= 255:
        return []
    return [
        f"images have values from {least:g} to {largest:g}, expected pixels of "
        "0 to 255; scale them, because networks, pictures and exports take "
        "such pixels"
    ]


def warn_beyond_pixels(x) -> None:
    """Warns as `beyond_pixels`; commands print a warning once."""
    for text in beyond_pixels(x):
        warnings.warn(text, stacklevel=2)
