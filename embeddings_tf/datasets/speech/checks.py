"""Checks that run eagerly, or in a graph when it runs."""

import tensorflow as tf


def require(condition, message: str) -> list[tf.Operation]:
    """Raises ValueError unless `condition`; in a graph, when it runs.

    Returns:
        Operations to run before the operations that need the condition.
    """
    if not tf.executing_eagerly():
        return [tf.debugging.Assert(condition, [message])]
    if not condition:
        raise ValueError(message)
    return []


def float_tensor(name: str, value, ranks: tuple[int, ...], axes: str):
    """Returns `value` as float32 if it is numeric and has an allowed rank."""
    value = tensor(name, value)
    if not (value.dtype.is_floating or value.dtype.is_integer):
        raise ValueError(
            f"{name} must be numbers; received dtype {value.dtype.name}."
        )
    if value.shape.rank not in ranks:
        raise ValueError(
            f"{name} must have shape {axes}; received shape {value.shape}."
        )
    return tf.cast(value, tf.float32)


def tensor(name: str, value) -> tf.Tensor:
    """Returns `value` as a tensor; ValueError if that is impossible."""
    try:
        return tf.convert_to_tensor(value)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be an array of numbers; received {value!r}: {error}"
        ) from error


def single_precision(waveform) -> tf.Tensor:
    """Returns a finite waveform as float32; raises if it does not fit."""
    require(
        tf.reduce_all(tf.abs(waveform) <= tf.float32.max),
        "the result exceeds the largest float32; scale the waveform down.",
    )
    return tf.cast(waveform, tf.float32)


def lengths_of(values, length, minimum: int, unit: str):
    """Returns valid entries of axis 1 of a batch, int32 `(batch,)`."""
    size = tf.shape(values)[1]
    if length is None:
        length = tf.fill([tf.shape(values)[0]], size)
    else:
        length = tensor("length", length)
        if length.shape.rank not in (0, 1) or not length.dtype.is_integer:
            raise ValueError(
                "length must be integers, one for each utterance; "
                "received shape "
                f"{length.shape} and dtype {length.dtype.name}."
            )
        # Clipped first, because larger lengths would overflow int32.
        length = tf.cast(length, tf.int64)
        length = tf.clip_by_value(length, -1, tf.int32.max)
        length = tf.reshape(tf.cast(length, tf.int32), [-1])
        check = require(
            tf.equal(tf.size(length), tf.shape(values)[0]),
            "length must have one entry for each utterance.",
        )
        with tf.control_dependencies(check):
            length = tf.identity(length)
    check = require(
        tf.reduce_all((length >= minimum) & (length <= size)),
        f"Every utterance must have at least {minimum} {unit}, and not more "
        "than the padded batch; check `length`, remove empty utterances.",
    )
    # In a graph, an operation that reads the length must not fail first.
    with tf.control_dependencies(check):
        return tf.clip_by_value(length, 0, size)


def require_finite(name: str, values, is_valid) -> None:
    """Raises on NaN and infinity, except in padding."""
    require(
        tf.reduce_all(tf.math.is_finite(values) | ~is_valid),
        f"{name} contains NaN or infinity; remove or repair such utterances.",
    )
