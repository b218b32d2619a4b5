"""Colour and orientation with hue noise up to 90 degrees in training.

For `tools.hue_noise_study`; the data set has noise up to 180 degrees.
"""

from embeddings_tf.datasets import ColourOrientation
from embeddings_tf.datasets.colour_orientation import SPLITS

LARGEST = 90.0


def images(split: str):
    """Returns images and classes of a split of `colour_orientation`."""
    x = ColourOrientation(*SPLITS[split], largest_hue_noise=LARGEST)
    return x, x.labels
