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
    is_symbolic = all(
        map(keras.utils.is_keras_tensor, keras.tree.flatten(output))
    )
    if isinstance(output, list) and len(output) == 1 and is_symbolic:
        (output,) = output  # which is what a functional model returns
    remedy = (
        "Use `keras.Model(inputs, embeddings)`, which returns the embeddings "
        "alone."
    )
    if isinstance(output, Mapping):
        names = ", ".join(map(repr, output)) or "nothing"
        received = f"a dictionary with {names}"
    elif isinstance(output, (list, tuple)):
        received = f"{type(output).__name__} of {len(output)}"
    elif tf.TensorShape(output.shape).rank not in (None, 2):
        received = f"one of shape {tuple(output.shape)}"
        remedy = "End the model with keras.layers.Flatten() or a pooling layer."
    else:
        return
    raise ValueError(
        "The model must return one tensor, the embeddings (batch, width); "
        f"received {received}. {remedy}"
    )
