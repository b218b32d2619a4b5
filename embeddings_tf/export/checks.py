"""Checks and blocks of rows inside an exported graph."""

from collections.abc import Callable
from collections.abc import Sequence

import tensorflow as tf

# Numbers that a block of rows may need at once: 32 MiB in float64.
BLOCK = 2**22


def require(condition: tf.Tensor, *message) -> tf.Operation:
    """An operation that fails with a message unless a condition is true."""
    return tf.debugging.Assert(condition, list(message))


def checked_input(
    x: tf.Tensor, spec: tf.TensorSpec, max_rows: int | None
) -> tf.Tensor:
    """Returns an input of a signature, checked for shape, rows and finiteness.

    TensorFlow's signatures check the shape in Python, but servers do not.

    Args:
        x: The input.
        spec: Its declared shape, and its name for the messages.
        max_rows: Largest number of rows; None: any number.
    """
    x = tf.ensure_shape(x, spec.shape, name=f"shape_of_{spec.name}")
    x = checked_rows(x, spec, max_rows)
    if not x.dtype.is_floating:
        return x
    return tf.debugging.assert_all_finite(
        x, f"`{spec.name}` contains NaN or infinity"
    )


def checked_rows(
    x: tf.Tensor, spec: tf.TensorSpec, max_rows: int | None
) -> tf.Tensor:
    """Returns `x`, refused if it has no rows or more than `max_rows`."""
    rows = tf.shape(x)[0]
    is_good = [
        require(
            rows > 0,
            f"`{spec.name}` must have at least one row. Received shape:",
            tf.shape(x),
        )
    ]
    if max_rows is not None:
        is_good.append(
            require(
                rows <= max_rows,
                f"`{spec.name}` must have at most {max_rows} rows, the limit "
                "of this export (max_rows); send several requests. Received "
                "rows:",
                rows,
            )
        )
    with tf.control_dependencies(is_good):
        return tf.identity(x)


def in_blocks(
    function: Callable[..., dict[str, tf.Tensor]],
    inputs: Sequence[tf.Tensor],
    numbers_per_row,
    outputs: dict[str, tf.TensorSpec],
    block: int = BLOCK,
) -> dict[str, tf.Tensor]:
    """Applies a function to blocks of rows, to limit the memory.

    Args:
        function: From rows of the inputs to tensors by name, all with the
            batch as first axis.
        inputs: Each `(rows, ...)`, with at least one row.
        numbers_per_row: Numbers that the function needs for a row, an integer
            or a scalar tensor.
        outputs: Shape and dtype of what the function returns.
        block: Numbers that a block may need. A block has at least one row.
    """
    rows = tf.shape(inputs[0])[0]
    numbers = tf.cast(numbers_per_row, tf.int64)
    size = tf.maximum(block // tf.maximum(numbers, 1), 1)
    size = tf.cast(size, tf.int32)
    num_blocks = (rows - 1) // size + 1
    arrays = {
        name: tf.TensorArray(
            spec.dtype, num_blocks, element_shape=spec.shape, infer_shape=False
        )
        for name, spec in outputs.items()
    }

    def add_block(index, arrays):
        start, end = index * size, tf.minimum(rows, (index + 1) * size)
        found = function(*(x[start:end] for x in inputs))
        return index + 1, {
            name: array.write(index, found[name])
            for name, array in arrays.items()
        }

    _, arrays = tf.while_loop(
        lambda index, _: index < num_blocks,
        add_block,
        (tf.constant(0), arrays),
        parallel_iterations=1,
    )
    found = {name: array.concat() for name, array in arrays.items()}
    for name, spec in outputs.items():
        found[name].set_shape(spec.shape)
    return found
