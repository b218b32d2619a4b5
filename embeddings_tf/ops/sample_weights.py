"""Checks of the weights of examples."""

import tensorflow as tf

from embeddings_tf.ops.tensors import as_tensor
from embeddings_tf.ops.tensors import real_numbers


def weight_per_row(sample_weight, rows: tf.Tensor) -> tf.Tensor | None:
    """Returns weights `(n,)` or `(n, 1)`, one for each row, or None.

    Keras broadcasts other shapes, such as (1, n), to a wrong number, and
    divides by the sum of the weights as given.

    Args:
        sample_weight: Weights (n,) or (n, 1), or one weight; None. Booleans
            are 0 and 1.
        rows: A tensor with the n rows of the batch.

    Raises:
        ValueError: If the weights are not real numbers, or the shape is
            another one (in a graph whose shapes are unknown:
            `tf.errors.InvalidArgumentError`).
    """
    if sample_weight is None:
        return None
    weights = _real_weights(sample_weight)
    shape, num_rows = weights.shape, rows.shape[0]
    allowed: tuple[list, ...] = ([], [1], [1, 1], [num_rows], [num_rows, 1])
    if not any(shape.is_compatible_with(each) for each in allowed):
        raise ValueError(
            "`sample_weight` must have one value for each example, of shape "
            f"({num_rows},) or ({num_rows}, 1), or be one number; received "
            f"the shape {tuple(shape)}."
        )
    # Fails unless the first axis has all weights; XLA drops assertions.
    size = tf.concat([tf.shape(weights), [1]], axis=0)[:1]
    weights = tf.ensure_shape(tf.reshape(weights, size), [None])
    # Not broadcast_to, with which XLA repeats rows.
    weights *= tf.ones(tf.shape(rows)[:1], weights.dtype)
    if num_rows is None:  # one row would take any number of weights
        received = tf.size(weights)
        fits = tf.debugging.Assert(
            tf.equal(received, tf.shape(rows)[0]),
            ["`sample_weight` must have one value for each example:", received],
        )
        with tf.control_dependencies([fits]):
            weights = tf.identity(weights)
    weights = tf.ensure_shape(weights, [num_rows])
    return weights[:, None] if shape.rank == 2 else weights


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
