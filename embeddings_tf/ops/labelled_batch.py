"""Checks labels and embeddings of a batch before use."""

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf import compat
from embeddings_tf.ops.arguments import array

CLASS_IDS = "Labels are class ids, integers"
NUMBER_CLASSES = (
    "Number the classes: labels = np.unique(labels, return_inverse=True)[1]."
)
RANK = (
    "Embeddings are a matrix (batch, dim), one row for each label; received "
    "shape {shape}. End the encoder in a layer that gives one vector for each "
    "input, such as keras.layers.Flatten() or GlobalAveragePooling."
)
ROW_BY_ROW = "Pairs are compared row by row"
LENGTH = (
    "Labels and embeddings must have the same number of rows. Feed one label "
    "for each example."
)


def labelled_batch(y_true, y_pred) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns integer labels `(batch,)` and embeddings `(batch, dim)`.

    Properties that are unknown while a graph is traced are checked when it
    runs.

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
    """Returns class ids as integers `(batch,)`: int32, or int64 if needed.

    Whole numbers in a float type are accepted if the type represents all
    integers up to them: below 2^24 in float32.

    Raises:
        ValueError: If labels are neither `(batch,)` nor `(batch, 1)`, or are
            not class ids. A graph checks the values of floats when it runs
            (`tf.errors.InvalidArgumentError`). XLA cannot check values and
            refuses floats.
    """
    y_true = _tensor("labels", y_true, CLASS_IDS, NUMBER_CLASSES)
    if not (y_true.dtype.is_integer or y_true.dtype.is_floating):
        raise ValueError(
            f"{CLASS_IDS}; received the type {y_true.dtype.name}. "
            f"{NUMBER_CLASSES}"
        )
    if y_true.shape.rank not in (None, 0, 1) and y_true.shape[1:] not in (
        tf.TensorShape([1]),
        tf.TensorShape([None]),
    ):
        raise ValueError(
            "Labels are class ids of shape (batch,) or (batch, 1); received "
            f"shape {y_true.shape}. If they are one-hot, use "
            "labels.argmax(-1)."
        )
    labels = tf.reshape(y_true, [-1])
    if labels.dtype.is_floating:
        labels = _whole_numbers(labels)
    fits = labels.dtype.size < 4 or labels.dtype == tf.int32
    return tf.cast(labels, tf.int32 if fits else tf.int64)


def _whole_numbers(labels: tf.Tensor) -> tf.Tensor:
    """Converts floats to int64 if they are class ids without doubt."""
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
            f"{CLASS_IDS}; received {dtype.name}, whose "
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
    """Returns `values` as a tensor, in `dtype` if given.

    Raises:
        ValueError: If they are complex, or not numbers.
    """
    expected = f"{name} must be real numbers"
    values = _tensor(name, values, expected, "Pass a float32 array or tensor.")
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


def _tensor(name: str, values, expected: str, cure: str) -> tf.Tensor:
    """Returns `values` as a tensor; ValueError if that is impossible."""
    is_list = isinstance(values, (list, tuple))
    if is_list and any(map(tf.is_tensor, values)):
        return tf.stack(values)
    if isinstance(values, (tf.Tensor, tf.Variable, keras.Variable)):
        return tf.convert_to_tensor(values)
    if isinstance(values, (tf.RaggedTensor, tf.SparseTensor)):
        raise ValueError(
            f"{expected}; received a {type(values).__name__}. {cure}"
        )
    found = array(name.strip("`"), values)
    # TensorFlow has neither Python objects nor long doubles.
    is_known = found.dtype.kind in "biufcSU" or found.dtype.name == "bfloat16"
    if not is_known or found.dtype.type is np.longdouble:
        received = f"the type {found.dtype}"
        if not (is_list or isinstance(values, np.ndarray)):
            received = type(values).__name__
        raise ValueError(f"{expected}; received {received}. {cure}")
    return tf.convert_to_tensor(found)
