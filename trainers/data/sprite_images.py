"""Images of inputs for TensorBoard's projector."""

import numpy as np

from embeddings_tf.callbacks.embedding_projector import LARGEST_SPRITE
from embeddings_tf.datasets import Utterances


def sprite_images(x) -> np.ndarray | None:
    """Returns the inputs if the projector can show them as images.

    None for other inputs, for instance utterances, rows of features and
    images that a preprocessing has moved out of the range 0 to 255. Says so if
    there are too many pixels.
    """
    if isinstance(x, Utterances):  # they have no slices
        return None
    # Not x[0], which is the whole file of an image.
    shape = np.shape(x[np.arange(1)])[1:]
    if len(shape) != 3 or shape[-1] not in (1, 3):
        return None
    side = int(np.ceil(np.sqrt(len(x)))) * max(shape[:2])
    if side > LARGEST_SPRITE:
        print(
            "The projector shows dots: the pictures would take "
            f"{side} pixels per side, more than {LARGEST_SPRITE}."
        )
        return None
    images = np.asarray(x[:])
    return images if 0 <= images.min() and images.max() <= 255 else None
