"""Checks of images for corruptions and augmentations."""

import tensorflow as tf

from embeddings_tf.ops.tensors import real_numbers


def checked_images(images, known_size: bool = True) -> tf.Tensor:
    """Returns images as a tensor `(batch, height, width, channels)`.

    Raises:
        ValueError: If they have another shape, or with `known_size` if height
            or width is unknown or zero.
    """
    images = real_numbers("Images", images)
    if images.shape.rank != 4:
        raise ValueError(
            "Images must have shape (batch, height, width, channels); received "
            f"shape {images.shape}. Use images[tf.newaxis] for one image and "
            "images[..., tf.newaxis] for images without channels."
        )
    if known_size and not (images.shape[1] and images.shape[2]):
        raise ValueError(
            "Images must have a height and a width that are known and not "
            f"zero; received shape {images.shape}. Call tf.ensure_shape first."
        )
    return images
