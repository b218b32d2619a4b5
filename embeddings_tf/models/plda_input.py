"""Checks embeddings and labels of a PLDA."""

from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.counted import counted

# Squares of larger numbers, or their sums, might overflow.
LARGEST = 1e100


def labelled_examples(
    embeddings: Any, labels: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Returns embeddings and class ids from 0, checked for a PLDA fit."""
    embeddings = bounded("embeddings", embeddings)
    labels = arrays.integers("labels", labels, 1, "(n,)")
    arrays.same_length(embeddings=embeddings, labels=labels)
    classes, class_ids = np.unique(labels, return_inverse=True)
    if not 1 < len(classes) < len(labels):
        raise ValueError(
            "PLDA needs at least two classes, and one with at least two "
            f"examples; received {counted(len(labels), 'example')} of "
            f"{counted(len(classes), 'class', 'classes')}. Pass more examples."
        )
    return embeddings, class_ids


def bounded(name: str, value: Any) -> np.ndarray:
    value = arrays.numbers(name, value, 2, "(n, dim)").astype(np.float64)
    largest = np.max(np.abs(value))
    if largest > LARGEST:
        raise ValueError(
            f"`{name}` must be at most {LARGEST} in size; received {largest}. "
            "Scale embeddings down."
        )
    return value


def require_dim(dim: int, **embeddings) -> None:
    """Raises ValueError unless all embeddings have `dim` columns."""
    for name, value in embeddings.items():
        shape = arrays.numbers(name, value, 2, "(n, dim)").shape
        if shape[1] != dim:
            raise ValueError(
                f"`{name}` must have shape (n, {dim}), like the embeddings "
                f"of the fit; received shape {shape}. Use "
                "the same encoder."
            )
