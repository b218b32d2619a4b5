"""Images of inputs, for figures and for TensorBoard's projector."""

import numpy as np

from embeddings_tf.callbacks.embedding_projector import LARGEST_SPRITE
from embeddings_tf.datasets import Utterances


def sprite_images(x) -> np.ndarray | None:
    """Returns the inputs if the projector can show them as images.

    None as for `images_of`. Also None for too many pixels; says so.
    """
    shape = _image_shape(x)
    if shape is None:
        return None
    side = int(np.ceil(np.sqrt(len(x)))) * max(shape[:2])
    if side > LARGEST_SPRITE:
        print(
            "The projector shows dots: the pictures would take "
            f"{side} pixels per side, more than {LARGEST_SPRITE}."
        )
        return None
    return images_of(x)


def images_of(x) -> np.ndarray | None:
    """Returns the inputs if they are images.

    None for other inputs, for instance utterances, rows of features and
    images that a preprocessing has moved out of the range 0 to 255.
    """
    if _image_shape(x) is None:
        return None
    images = np.asarray(x[:])
    return images if 0 <= images.min() and images.max() <= 255 else None


def _image_shape(x) -> tuple[int, ...] | None:
    """Returns `(height, width, channels)`; None for other inputs."""
    if isinstance(x, Utterances):  # they have no slices
        return None
    # Not x[0], which is the whole file of an image.
    shape = np.shape(x[np.arange(1)])[1:]
    return shape if len(shape) == 3 and shape[-1] in (1, 3) else None
