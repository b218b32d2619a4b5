"""Data sets, index vectors to batches, and corruption of images."""

from embeddings_tf.datasets.batches import batches
from embeddings_tf.datasets.corruption import corrupt
from embeddings_tf.datasets.corruption import occlusion_mask
from embeddings_tf.datasets.load import load
from embeddings_tf.datasets.n_digit.scikit_learn_digits import (
    n_digit_from_scikit_learn,
)

__all__ = [
    "batches",
    "corrupt",
    "load",
    "n_digit_from_scikit_learn",
    "occlusion_mask",
]
