"""Pairs of rows of a batch: of one label, or of two labels."""

from collections.abc import Callable

import tensorflow as tf

from embeddings_tf.ops import gaussian
from embeddings_tf.ops.class_sizes import class_sizes
from embeddings_tf.ops.global_batch import gather_global_batch
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.tensors import single_precision


def set_wise(value: Callable, y_true, y_pred) -> tf.Tensor:
    """Computes the value of the global batch and repeats it for local rows.

    Call it in a loss whose value depends on the batch as a whole. `value` then
    gets the rows of all replicas, and Keras one value for each local row.

    Args:
        value: Function from integer labels `(rows,)` and float32 (or float64)
            embeddings `(rows, dim)` of all replicas to a scalar.
        y_true: Class ids `(batch,)` or `(batch, 1)`.
        y_pred: Embeddings `(batch, dim)`.

    Returns:
        `(batch,)`.

    Raises:
        ValueError: If labels or embeddings are not as above
            (`labelled_batch`).

    Example:

    >>> def variance(labels, z):
    ...     return tf.reduce_mean((z - tf.reduce_mean(z, axis=0)) ** 2)
    >>> z = np.array([[1.0], [3.0]], "float32")
    >>> embeddings_tf.losses.set_wise(variance, [0, 1], z).numpy()
    array([1., 1.], dtype=float32)
    """
    gaussian.require_points(y_pred)
    labels, local = labelled_batch(y_true, y_pred)
    local = single_precision(local)
    labels, embeddings = gather_global_batch(labels, local)
    return tf.fill(tf.shape(local)[:1], value(labels, embeddings))


def same_class(
    labels: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor | None = None
) -> tf.Tensor:
    """Whether rows are of one class, `(rows, columns)`; true with itself.

    Args:
        labels: Integers `(batch,)`.
        rows: Indices of rows.
        columns: The same; None: all rows.
    """
    of_columns = labels if columns is None else tf.gather(labels, columns)
    return tf.gather(labels, rows)[:, None] == of_columns


def positive_and_negative(
    labels: tf.Tensor, rows: tf.Tensor | None = None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Masks `(batch, batch)` of pairs of one class, and of two classes.

    Each pair occurs in both orders. A row with itself is not a pair. With some
    `rows`, the masks are of their pairs with all columns, `(rows, batch)`.
    """
    if rows is None:
        same = labels[:, None] == labels
        return tf.linalg.set_diag(same, tf.zeros_like(labels, tf.bool)), ~same
    same = same_class(labels, rows)
    is_other = rows[:, None] != tf.range(tf.size(labels))
    return same & is_other, ~same


def num_pairs(labels: tf.Tensor, dtype: tf.DType) -> tuple:
    """Numbers of positive and of negative pairs, in both orders."""
    _, counts = class_sizes(labels)
    counts = tf.cast(counts, dtype)
    return (
        tf.reduce_sum(counts * tf.nn.relu(counts - 1)),
        tf.reduce_sum(counts * (tf.reduce_sum(counts) - counts)),
    )


def count(mask: tf.Tensor, dtype: tf.DType, axis=None) -> tf.Tensor:
    """Counts the true entries."""
    return tf.reduce_sum(tf.cast(mask, dtype), axis)


def mean_over(mask: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Mean of `values` where `mask` is true; 0 if it never is.

    All values must be finite. A numeric mask contains weights. The function
    divides before it sums, so large values do not overflow.
    """
    weight = tf.cast(mask, values.dtype)
    weight = tf.math.divide_no_nan(weight, tf.reduce_sum(weight))
    return tf.reduce_sum(weight * values)
