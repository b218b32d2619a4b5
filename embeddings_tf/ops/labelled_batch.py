"""Labels and embeddings of a batch, checked before anything reads them."""

import numpy as np
import tensorflow as tf

from embeddings_tf import compat

RANK = (
    "Embeddings are a matrix (batch, dim), one row for each label; received "
    "shape {shape}. End the encoder in a layer that gives one vector for each "
    "input, such as keras.layers.Flatten() or GlobalAveragePooling."
)
LENGTH = (
    "Labels and embeddings must have the same number of rows. Feed one label "
    "for each example."
)


def labelled_batch(y_true, y_pred) -> tuple[tf.Tensor, tf.Tensor]:
    """Integer labels `(batch,)` and embeddings `(batch, dim)` as given.

    What is known only when a graph runs is checked there.

    Raises:
        ValueError: If the labels are not class ids (`class_labels`), the
            embeddings are not real numbers or not a matrix, or the lengths
            differ (in a graph: `tf.errors.InvalidArgumentError`).
    """
    labels = class_labels(y_true)
    embeddings = real_numbers("Embeddings", y_pred)
    rank = embeddings.shape.rank
    if rank not in (None, 2):
        raise ValueError(RANK.format(shape=embeddings.shape))
    if not embeddings.shape[:1].is_compatible_with(labels.shape):
        raise ValueError(
            f"{LENGTH} Received {labels.shape[0]} labels and embeddings of "
            f"shape {embeddings.shape}."
        )
    if embeddings.shape[:1].is_fully_defined() and labels.shape[0] is not None:
        return labels, embeddings
    if rank is None:
        is_matrix = tf.debugging.Assert(
            tf.equal(tf.rank(embeddings), 2),
            [RANK.format(shape="with the axes"), tf.shape(embeddings)],
        )
        with tf.control_dependencies([is_matrix]):
            # XLA drops assertions, but checks this.
            embeddings = tf.ensure_shape(embeddings, [None, None])
    num_rows = tf.shape(embeddings)[0]
    same_length = tf.debugging.Assert(
        tf.equal(tf.size(labels), num_rows),
        [LENGTH, "Received", tf.size(labels), "labels and", num_rows, "rows."],
    )
    with tf.control_dependencies([same_length]):
        # XLA checks the size.
        return tf.reshape(labels, [num_rows]), tf.identity(embeddings)


def class_labels(y_true) -> tf.Tensor:
    """Class ids as integers `(batch,)`: int32, or int64 if they may need it.

    Whole numbers in a float type are accepted as long as the type tells
    neighbours apart: below 2^24 in float32.

    Raises:
        ValueError: If labels are neither `(batch,)` nor `(batch, 1)`, or no
            class ids. A graph checks the values of floats when it runs
            (`tf.errors.InvalidArgumentError`); XLA cannot, so it refuses them.
    """
    if isinstance(y_true, (list, tuple)) and not any(map(tf.is_tensor, y_true)):
        y_true = np.asarray(y_true)
    if isinstance(y_true, np.ndarray) and y_true.dtype.kind not in "iuf":
        raise ValueError(_not_class_ids(y_true.dtype))
    y_true = tf.convert_to_tensor(y_true)
    if not (y_true.dtype.is_integer or y_true.dtype.is_floating):
        raise ValueError(_not_class_ids(y_true.dtype.name))
    if y_true.shape.rank not in (None, 0, 1) and y_true.shape[1:] not in (
        tf.TensorShape([1]),
        tf.TensorShape([None]),
    ):
        raise ValueError(
            "Labels are class ids of shape (batch,) or (batch, 1); received "
            f"shape {y_true.shape}. If they are one-hot, take "
            "labels.argmax(-1)."
        )
    labels = tf.reshape(y_true, [-1])
    if labels.dtype.is_floating:
        labels = _whole_numbers(labels)
    fits = labels.dtype.size < 4 or labels.dtype == tf.int32
    return tf.cast(labels, tf.int32 if fits else tf.int64)


def _not_class_ids(dtype) -> str:
    return (
        f"Labels are class ids, integers; received the type {dtype}. Number "
        "the classes: labels = np.unique(labels, return_inverse=True)[1]."
    )


def _whole_numbers(labels: tf.Tensor) -> tf.Tensor:
    """int64 of floats that are class ids without doubt."""
    dtype = labels.dtype
    digits = {tf.bfloat16: 8, tf.float16: 11, tf.float32: 24, tf.float64: 53}
    message = (
        f"Labels are class ids; received {dtype.name} labels that are not "
        f"whole numbers below 2^{digits[dtype]}, where neighbours of this "
        "type merge. Feed integers: labels.astype('int64') if they are ids, "
        "or np.unique(labels, return_inverse=True)[1] to number the classes."
    )
    if compat.is_traced_for_xla():
        raise ValueError(
            f"Labels are class ids, integers; received {dtype.name}, whose "
            "values XLA cannot check (jit_compile=True). Cast them before "
            "they reach the model: labels.astype('int64')."
        )
    limit = tf.cast(2.0 ** digits[dtype], dtype)
    is_id = (tf.round(labels) == labels) & (tf.abs(labels) < limit)
    if tf.executing_eagerly():
        if not tf.reduce_all(is_id):
            raise ValueError(f"{message} Received {labels[~is_id][0].numpy()}.")
        return tf.cast(labels, tf.int64)
    is_valid = tf.debugging.Assert(tf.reduce_all(is_id), [message, labels])
    with tf.control_dependencies([is_valid]):
        return tf.cast(labels, tf.int64)


def real_numbers(name: str, values, dtype=None) -> tf.Tensor:
    """`values` as a tensor, in `dtype` if that is given.

    Raises:
        ValueError: If they are complex, or no numbers.
    """
    if not tf.is_tensor(values):
        values = np.asarray(values)
    given = tf.as_dtype(values.dtype)
    if not (given.is_floating or given.is_integer):
        remedy = ""
        if given.is_complex:
            remedy = (
                " The imaginary part would get lost: give both parts as "
                "dimensions, tf.concat([tf.math.real(z), tf.math.imag(z)], -1)."
            )
        raise ValueError(
            f"{name} must be real numbers; received the type {given.name}."
            f"{remedy}"
        )
    values = tf.convert_to_tensor(values)
    return values if dtype is None else tf.cast(values, dtype)
