"""Embeddings for tests of losses."""

import numpy as np


def points(num_rows=12, dim=3, seed=0):
    """Returns `(num_rows, dim)` standard normal float32."""
    z = np.random.default_rng(seed).normal(size=(num_rows, dim))
    return z.astype("float32")
