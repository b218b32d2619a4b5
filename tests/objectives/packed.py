"""Gaussian embeddings in tests of objectives."""

import numpy as np


def unpack(packed):
    """Returns means and variances in float64."""
    packed = np.asarray(packed, "float64")
    dim = packed.shape[-1] // 2
    return packed[..., :dim], packed[..., dim:]
