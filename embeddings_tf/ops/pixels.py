"""Checks whether pixels are in 0 to 255 or look like 0 to 1."""

import warnings

import numpy as np
import tensorflow as tf

MESSAGE = (
    "Pixels are 0 to 255 here; received images of floats in [0, 1] that are "
    "not whole numbers. Multiply them by 255."
)


def warn() -> None:
    """Warns that pixels look like 0 to 1 instead of 0 to 255."""
    warnings.warn(MESSAGE, stacklevel=3)


def require_pixels(images: np.ndarray) -> None:
    """Raises ValueError unless an array contains pixels of 0 to 255.

    Warns if they look like 0 to 1.
    """
    if images.dtype.kind not in "biuf":
        raise ValueError(
            "Images must have pixels that are real numbers; received the type "
            f"{images.dtype}."
        )
    # Written so that NaN is also refused.
    if not (images.min() >= 0 and images.max() <= 255):
        raise ValueError(
            "Images must have pixels from 0 to 255; received values from "
            f"{images.min():g} to {images.max():g}. Rescale them."
        )
    if images.dtype.kind == "f" and in_unit_range(images):
        warn()


def in_unit_range(images) -> tf.Tensor:
    """Whether all `images` lie in [0, 1] and some are not whole numbers."""
    images = tf.convert_to_tensor(images)
    return tf.reduce_all((images >= 0) & (images <= 1)) & tf.reduce_any(
        images != tf.floor(images)
    )
