"""Whether images look as if their pixels were 0 to 1 instead of 0 to 255."""

import warnings

import numpy as np
import tensorflow as tf

MESSAGE = (
    "Pixels are 0 to 255 here; received images of floats in [0, 1] that are "
    "not whole numbers. Multiply them by 255."
)


def warn() -> None:
    """Warns that pixels look like 0 to 1."""
    warnings.warn(MESSAGE, stacklevel=3)


def warn_if_in_unit_range(images: np.ndarray) -> None:
    """Warns if an array of images looks like pixels of 0 to 1."""
    if images.dtype.kind == "f" and in_unit_range(images):
        warn()


def in_unit_range(images) -> tf.Tensor:
    """Whether all of `images` lie in [0, 1] and some are no whole numbers."""
    images = tf.convert_to_tensor(images)
    return tf.reduce_all((images >= 0) & (images <= 1)) & tf.reduce_any(
        images != tf.floor(images)
    )
