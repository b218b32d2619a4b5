"""A clear error for the second derivative of a loss that has none."""

import tensorflow as tf


def differentiable_once(
    upstream: tf.Tensor, tensor: tf.Tensor, name: str
) -> tf.Tensor:
    """Returns `upstream`; its derivative in `tensor` raises an error.

    Otherwise the second derivative would be None, or an error about an
    operation inside the loss.

    Args:
        upstream: The gradient that a loss receives.
        tensor: The embeddings of the loss.
        name: Name of the loss, for the error.
    """
    nothing = tf.raw_ops.PreventGradient(
        input=tensor[:0], message=f"{name} is differentiable once only."
    )
    return upstream + tf.reduce_sum(nothing)
