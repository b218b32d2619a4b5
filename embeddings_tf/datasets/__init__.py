"""Loads data sets, makes batches, corrupts images and processes speech."""

from embeddings_tf.datasets import speech  # noqa: F401
from embeddings_tf.datasets.batches import batches
from embeddings_tf.datasets.colour_orientation import ColourOrientation
from embeddings_tf.datasets.corruption import corrupt
from embeddings_tf.datasets.corruption import occlusion_mask
from embeddings_tf.datasets.degrade import degrade
from embeddings_tf.datasets.degrade_randomly import degrade_randomly
from embeddings_tf.datasets.images import Images
from embeddings_tf.datasets.load import load
from embeddings_tf.datasets.n_digit.scikit_learn_digits import (
    n_digit_from_scikit_learn,
)
from embeddings_tf.datasets.shift_and_mirror import shift_and_mirror
from embeddings_tf.datasets.utterances import Utterances

__all__ = [
    "ColourOrientation",
    "Images",
    "Utterances",
    "batches",
    "corrupt",
    "degrade",
    "degrade_randomly",
    "load",
    "n_digit_from_scikit_learn",
    "occlusion_mask",
    "shift_and_mirror",
]
