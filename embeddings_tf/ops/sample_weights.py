"""Checks of the weights of examples."""

import tensorflow as tf


def weight_per_row(sample_weight, num_rows: int | None):
    """Returns weights, one for each row or one for all, or None.

    Keras broadcasts other shapes, such as (1, n), to a wrong number.

    Args:
        sample_weight: Weights (n,) or (n, 1), or one weight; None.
        num_rows: Number of rows n of the batch, None if unknown.

    Raises:
        ValueError: If the shape is another one (in a graph whose shapes are
            unknown: `tf.errors.InvalidArgumentError`).
    """
    if sample_weight is None:
        return None
    if not hasattr(sample_weight, "shape"):
        sample_weight = tf.convert_to_tensor(sample_weight)
    shape = tf.TensorShape(sample_weight.shape)
    allowed: tuple[list, ...] = ([], [1], [1, 1], [num_rows], [num_rows, 1])
    if not any(shape.is_compatible_with(each) for each in allowed):
        raise ValueError(
            "`sample_weight` must have one value for each example, of shape "
            f"({num_rows},) or ({num_rows}, 1), or be one number; received "
            f"the shape {tuple(shape)}."
        )
    if shape.rank == 2 and shape[1] is None:
        # Keras recognizes a column only by its static shape.
        return tf.ensure_shape(sample_weight, [None, 1])
    return sample_weight
