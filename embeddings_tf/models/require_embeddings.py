"""Refuses models that return anything but one matrix of embeddings."""

from collections.abc import Mapping

import keras
import tensorflow as tf


def require_embeddings(output) -> None:
    """Raises ValueError unless a model's output is one matrix.

    Args:
        output: The outputs of a model, or `model.output`. None passes: the
            model has not been traced.
    """
    if output is None:
        return
    parts = keras.tree.flatten(output)
    if isinstance(output, Mapping):
        received = f"a dictionary with {', '.join(map(repr, output))}"
    elif len(parts) > 1:
        received = f"{len(parts)} outputs"
    elif tf.TensorShape(parts[0].shape).rank not in (None, 2):
        received = f"one of shape {tuple(parts[0].shape)}"
    else:  # Keras returns the tensor of a list with one tensor
        return
    raise ValueError(
        "The model must return one tensor, the embeddings (batch, width); "
        f"received {received}. Use `keras.Model(inputs, embeddings)`, which "
        "returns the embeddings alone."
    )
