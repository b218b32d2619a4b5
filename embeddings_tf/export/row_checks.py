"""Checks of inputs that must fit each other, inside an exported graph."""

import tensorflow as tf

from embeddings_tf.export import checks


def same_rows(
    first: tf.Tensor, first_name: str, second: tf.Tensor, second_name: str
) -> tf.Operation:
    """An operation that fails unless two inputs have as many rows."""
    rows = tf.shape(first)[0], tf.shape(second)[0]
    return checks.require(
        tf.equal(*rows),
        f"`{first_name}` and `{second_name}` must have the same number of "
        "rows. Received rows:",
        *rows,
    )


def consistent(inputs, specs, source: str = "") -> list[tf.Tensor]:
    """Returns the inputs of a signature, checked against the first of them.

    All must have as many rows. Lengths, which are integers under a name that
    ends in `length`, must be in 1..(size of axis 1 of the first input).

    Args:
        inputs: The inputs, of the declared ranks.
        specs: Their names and declared shapes.
        source: Where the inputs are from, if clients do not send them.
    """
    first, *others = inputs
    first_spec, *other_specs = specs
    good = []
    for x, spec in zip(others, other_specs, strict=True):
        good.append(same_rows(first, first_spec.name, x, spec.name))
        if not is_length(spec) or first_spec.shape.rank in (None, 1):
            continue
        size = tf.cast(tf.shape(first)[1], x.dtype)
        is_good = (x > 0) & (x <= size)
        # One more row, so that the position exists when all are good.
        row = tf.argmin(tf.pad(tf.cast(is_good, tf.int32), [[0, 1]]))
        good.append(
            checks.require(
                tf.reduce_all(is_good),
                f"`{spec.name}` {source}must be at least 1 and at most the "
                f"size of axis 1 of `{first_spec.name}`. Received size, row "
                "and length:",
                size,
                row,
                tf.pad(x, [[0, 1]])[row],
            )
        )
    with tf.control_dependencies(good):
        return [tf.identity(x) for x in inputs]


def is_length(spec: tf.TensorSpec) -> bool:
    """Whether an input has the lengths of the rows of the first input."""
    is_integer = spec.dtype.is_integer and spec.shape.rank == 1
    return is_integer and spec.name.endswith("length")
