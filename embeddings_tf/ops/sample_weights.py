"""Checks of the weights of examples."""

import numpy as np
import tensorflow as tf


def require_weight_per_row(sample_weight, num_rows: int | None) -> None:
    """Raises ValueError unless weights have the shape (n,), (n, 1) or ().

    Keras broadcasts other shapes, such as (1, n), to a wrong number. Shapes
    that are unknown while a graph is traced are not checked.

    Args:
        sample_weight: Weights, or None.
        num_rows: Number of rows n of the batch, None if unknown.
    """
    if sample_weight is None:
        return
    shape = (
        sample_weight.shape
        if isinstance(sample_weight, (tf.Tensor, tf.Variable))
        else tf.TensorShape(np.shape(sample_weight))
    )
    allowed: tuple[list, ...] = ([], [1], [num_rows], [num_rows, 1])
    if not any(shape.is_compatible_with(each) for each in allowed):
        raise ValueError(
            "`sample_weight` must have one value for each example, of shape "
            f"({num_rows},) or ({num_rows}, 1); received the shape "
            f"{tuple(shape)}."
        )
