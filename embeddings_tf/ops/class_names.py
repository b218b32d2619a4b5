"""Checks labels that name classes."""

import numpy as np

from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import decoded
from embeddings_tf.ops.arguments import refuse_missing


def class_names(labels) -> np.ndarray:
    """Returns labels as an array; ValueError unless they can name classes.

    Text in an array of Python objects, as pandas gives it, becomes text, and so
    does text of tensors, which is bytes.
    """
    given = labels if isinstance(labels, (list, tuple)) else ()
    labels = array("labels", labels)
    if labels.dtype.kind == "O" and labels.ndim:  # for example from pandas
        given = labels.ravel().tolist()
        refuse_missing("labels", given)
        labels = array("labels", labels.tolist())
    refuse_missing("labels", given)
    refused = np.full(labels.shape, labels.dtype.kind not in "biuSU")
    if labels.dtype.kind in "fMm":  # the last are dates and times
        refused = ~np.isfinite(labels)
    if refused.any():
        raise ValueError(
            "`labels` must be integers, strings or finite numbers; received "
            f"{labels[refused][0]} of dtype {labels.dtype}. Leave examples "
            "without a class out."
        )
    _refuse_merged(given, labels)
    return decoded("labels", labels)


def _refuse_merged(given, labels: np.ndarray) -> None:
    """Raises ValueError if a list has more classes than its array."""
    try:
        num_given = len(set(given))
    except TypeError:  # entries that are lists or tensors have no hash
        return
    found = len(set(labels.ravel().tolist())) if given else 0
    if found < num_given:
        raise ValueError(
            f"`labels` have {num_given} classes, which become {found} in an "
            f"array of {labels.dtype}. Use integers of 64 bits, or strings "
            "that differ before trailing null characters."
        )
