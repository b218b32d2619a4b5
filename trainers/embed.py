"""Embeddings of arrays."""

import numpy as np

BLOCK = 256


def embed(model, x) -> np.ndarray:
    """Embeddings of all of `x`, block by block."""
    blocks = [x[first : first + BLOCK] for first in range(0, len(x), BLOCK)]
    return np.concatenate([model.predict_on_batch(block) for block in blocks])
