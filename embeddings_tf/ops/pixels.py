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


def in_unit_range(images, axis=None) -> tf.Tensor:
    """Whether all `images` lie in [0, 1] and some are not whole numbers.

    `axis` is the axes of an image, for an answer for each; None: all axes.
    """
    images = tf.convert_to_tensor(images)
    inside, whole = (images >= 0) & (images <= 1), images == tf.floor(images)
    return tf.reduce_all(inside, axis) & tf.reduce_any(~whole, axis)


def any_in_unit_range(images: tf.Tensor) -> tf.Tensor:
    """`in_unit_range` of any image; pixels of other images do not hide it."""
    rank = images.shape.rank
    axes = tf.range(1, tf.rank(images)) if rank is None else [*range(1, rank)]
    return tf.reduce_any(in_unit_range(images, axes))
