"""Checks and converts tensors of numbers before use."""

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import refuse_not_dense

ROW_BY_ROW = "Pairs are compared row by row"


def real_numbers(name: str, values, dtype=None) -> tf.Tensor:
    """Returns `values` as a tensor, in `dtype` if given.

    Raises:
        ValueError: If they are complex, or not numbers.
    """
    expected = f"{name} must be real numbers"
    values = as_tensor(
        name, values, expected, "Pass a float32 array or tensor."
    )
    if not (values.dtype.is_floating or values.dtype.is_integer):
        remedy = ""
        if values.dtype.is_complex:
            remedy = (
                " The imaginary part would be lost: give both parts as "
                "dimensions, tf.concat([tf.math.real(z), tf.math.imag(z)], -1)."
            )
        raise ValueError(
            f"{expected}; received the type {values.dtype.name}.{remedy}"
        )
    return values if dtype is None else tf.cast(values, dtype)


def single_precision(x: tf.Tensor) -> tf.Tensor:
    """Casts to float32, unless `x` is float64."""
    return x if x.dtype == tf.float64 else tf.cast(x, tf.float32)


def real_floats(name: str, values, dtype) -> tf.Tensor:
    """`real_numbers` with integers cast to `dtype`; Keras casts floats."""
    values = real_numbers(name, values)
    return tf.cast(values, dtype) if values.dtype.is_integer else values


def real_matrix(name: str, values, dtype=None) -> tf.Tensor:
    """`real_numbers` of shape `(rows, width)`; ValueError for another rank."""
    values = real_numbers(name, values, dtype)
    if values.shape.rank not in (None, 2):
        raise ValueError(
            f"{name} must be a matrix, one row for each example; received "
            f"shape {values.shape}. For a single example, make a batch: "
            "values[None]."
        )
    return values


def require_one_width(first: tf.Tensor, second: tf.Tensor) -> None:
    """ValueError unless embeddings that are compared have one width.

    Otherwise a width of 1 would be broadcast.
    """
    if not first.shape[-1:].is_compatible_with(second.shape[-1:]):
        raise ValueError(
            "Compared embeddings must have the same width; received shapes "
            f"{first.shape} and {second.shape}. Embed both with one encoder."
        )


def rows_of_one_length(
    first: tf.Tensor,
    second: tf.Tensor,
    axis: int = 0,
    all_pairs: str = "score_all_pairs",
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns two sets that are compared row by row, as many rows of each.

    Otherwise a single row would be compared with every row of the other set.

    Args:
        first: Rows along `axis`.
        second: The same of the other set.
        axis: 0, or 1 if samples come first.
        all_pairs: The method that compares each with each, for the error.

    Raises:
        ValueError: If the numbers of rows differ (in a graph that does not
            know them: `tf.errors.InvalidArgumentError`).
    """
    remedy = f"Give as many of both; `{all_pairs}` compares each with each."
    lengths = first.shape[axis], second.shape[axis]
    if None not in lengths:
        if lengths[0] != lengths[1]:
            raise ValueError(
                f"{ROW_BY_ROW}; received {lengths[0]} and {lengths[1]} rows. "
                f"{remedy}"
            )
        return first, second
    lengths = tf.shape(first)[axis], tf.shape(second)[axis]
    same_length = tf.debugging.Assert(
        tf.equal(*lengths),
        [f"{ROW_BY_ROW}. {remedy} Received rows:", *lengths],
    )
    with tf.control_dependencies([same_length]):
        shape = tf.shape(second)
        shape = [shape[:axis], lengths[0][None], shape[axis + 1 :]]
        # XLA drops assertions, but checks the size.
        reshaped = tf.reshape(second, tf.concat(shape, axis=0))
        return tf.identity(first), tf.ensure_shape(reshaped, second.shape)


def as_tensor(name: str, values, expected: str, cure: str) -> tf.Tensor:
    """Returns `values` as a tensor; ValueError if that is impossible."""
    is_list = isinstance(values, (list, tuple))
    if is_list and any(map(tf.is_tensor, values)):
        return tf.stack(values)
    if isinstance(values, (tf.Tensor, tf.Variable, keras.Variable)):
        return tf.convert_to_tensor(values)
    refuse_not_dense(expected, values)
    found = array(name.strip("`"), values)
    # TensorFlow has neither Python objects nor long doubles.
    is_known = found.dtype.kind in "biufcSU" or found.dtype.name == "bfloat16"
    if not is_known or found.dtype.type is np.longdouble:
        received = f"the type {found.dtype}"
        if not (is_list or isinstance(values, np.ndarray)):
            received = type(values).__name__
        raise ValueError(f"{expected}; received {received}. {cure}")
    return tf.convert_to_tensor(found)
