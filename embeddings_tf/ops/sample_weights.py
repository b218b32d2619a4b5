"""Checks of the weights of examples."""

import tensorflow as tf

from embeddings_tf.ops.tensors import as_tensor
from embeddings_tf.ops.tensors import real_numbers


def weight_per_row(sample_weight, num_rows: int | None) -> tf.Tensor | None:
    """Returns weights, one for each row or one for all, or None.

    Keras broadcasts other shapes, such as (1, n), to a wrong number.

    Args:
        sample_weight: Weights (n,) or (n, 1), or one weight; None. Booleans
            are 0 and 1.
        num_rows: Number of rows n of the batch, None if unknown.

    Raises:
        ValueError: If the weights are not real numbers, or the shape is
            another one (in a graph whose shapes are unknown:
            `tf.errors.InvalidArgumentError`).
    """
    if sample_weight is None:
        return None
    weights = _real_weights(sample_weight)
    shape = weights.shape
    if shape.rank is None:
        return _of_unknown_rank(weights, num_rows)
    allowed: tuple[list, ...] = ([], [1], [1, 1], [num_rows], [num_rows, 1])
    if not any(shape.is_compatible_with(each) for each in allowed):
        raise ValueError(
            "`sample_weight` must have one value for each example, of shape "
            f"({num_rows},) or ({num_rows}, 1), or be one number; received "
            f"the shape {tuple(shape)}."
        )
    if shape.rank == 2 and shape[1] is None:
        # Keras recognizes a column only by its static shape.
        return tf.ensure_shape(weights, [None, 1])
    return weights


def _real_weights(sample_weight) -> tf.Tensor:
    name = "`sample_weight`"
    weights = as_tensor(
        name,
        sample_weight,
        f"{name} must be real numbers",
        "Pass one number for each example.",
    )
    if weights.dtype.is_bool:
        return tf.cast(weights, tf.float32)
    return real_numbers(name, weights)


def _of_unknown_rank(weights, num_rows: int | None) -> tf.Tensor:
    """Returns `(n,)` of (n,) or (n, 1), and `(n,)` or `(1,)` of one weight."""
    # Fails unless the first axis has all weights; XLA drops assertions.
    size = tf.concat([tf.shape(weights), [1]], axis=0)[:1]
    weights = tf.ensure_shape(tf.reshape(weights, size), [None])
    if num_rows is None:
        return weights
    # Not broadcast_to, with which XLA repeats rows.
    weights *= tf.ones([num_rows], weights.dtype)
    return tf.ensure_shape(weights, [num_rows])
