"""A short hash that distinguishes trained models."""

import hashlib

import numpy as np

from embeddings_tf.compat import stored_value
from embeddings_tf.models.method import Method


def fingerprint(model) -> str:
    """Returns sixteen hexadecimal digits for the weights of a model.

    Embeddings of two models cannot be compared. The hash covers the shapes,
    types and values of all weights of encoder and objective, and the distance
    between embeddings, but not the optimiser.
    """

    digest = hashlib.sha256(Method(model).distance.encode())
    for weight in model.weights:
        value = np.ascontiguousarray(stored_value(weight))
        digest.update(f"{value.shape} {value.dtype}".encode())
        digest.update(value.tobytes())
    return digest.hexdigest()[:16]
