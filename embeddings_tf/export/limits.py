"""Limits of a request to an exported model."""

import dataclasses
import math

import tensorflow as tf

from embeddings_tf.export import checks

# Values of an input: 1 GiB in float32.
MAX_VALUES = 2**28


@dataclasses.dataclass(frozen=True)
class Limits:
    """Largest number of rows, and of values of an input; None: no limit."""

    max_rows: int | None
    max_values: int | None

    @classmethod
    def of_model(cls, specs, max_rows, max_values) -> "Limits":
        """Lowers `max_rows` if the values of rows of fixed size exceed it.

        Raises:
            ValueError: If a single row of fixed size exceeds `max_values`.
        """
        sizes = {
            math.prod(spec.shape[1:]): spec.name
            for spec in specs
            if None not in spec.shape[1:]
        }
        if max_values is not None:
            largest = max([*sizes, 1])
            if largest > max_values:
                raise ValueError(
                    f"`max_values` must be at least {largest}, the values of a "
                    f"row of `{sizes[largest]}`; received {max_values}. Choose "
                    "a larger number, or no limit."
                )
            found = max_values // largest
            max_rows = min(found, max_rows or found)
        return cls(max_rows, max_values)

    def checked_size(
        self, x: tf.Tensor, spec: tf.TensorSpec, per_value: int
    ) -> tf.Tensor:
        """Returns an input, refused if it has too many values.

        Args:
            x: The input, of the rank of its spec, whose size is open.
            spec: Its declared shape, and its name for the messages.
            per_value: Values that the model needs at once for a value of a
                row; a row must fit into `max_values`, too.
        """
        if self.max_values is None:
            return x
        values = tf.size(x, tf.int64)
        of_row = tf.reduce_prod(tf.shape(x, tf.int64)[1:])
        longest = max(self.max_values // per_value, 1)
        is_small = [
            checks.require(
                values <= self.max_values,
                f"`{spec.name}` must have at most {self.max_values} values, "
                "rows times the longest row, the limit of this export "
                "(max_values); send several requests. Received values:",
                values,
            ),
            checks.require(
                of_row <= longest,
                f"`{spec.name}` must have rows of at most {longest} values, "
                "because the model needs memory for each (max_values); divide "
                "them. Received values of a row:",
                of_row,
            ),
        ]
        with tf.control_dependencies(is_small):
            return tf.identity(x)
