"""The positives of each row of a batch: the other rows of its class."""

import tensorflow as tf

from embeddings_tf import compat
from embeddings_tf.ops import pairs
from embeddings_tf.ops.class_sizes import class_sizes


class Positives:
    """Takes the entries of positives from a matrix of pairs, and adds to them.

    Use it where only positives need a computation: a batch has few of them.

    Args:
        labels: Integers `(batch,)`.

    Attributes:
        count: int32 `(batch,)`, the positives of each row.
        most: The largest of these numbers.
    """

    def __init__(self, labels: tf.Tensor):
        self.labels = labels
        ids, counts = class_sizes(labels)
        size = tf.gather(counts, ids)
        self.count = size - 1
        self.most = tf.maximum(tf.reduce_max(self.count), 0)
        # XLA does not know `most`: there, all rows of a batch are listed.
        self.is_listed = not compat.is_traced_for_xla()
        if self.is_listed:
            # Each class is a ring of rows; the positives follow the row.
            order = tf.argsort(ids, stable=True)
            first = tf.gather(tf.cumsum(counts, exclusive=True), ids)
            place = tf.math.invert_permutation(order) - first
            step = tf.range(1, self.most + 1)
            place = (place[:, None] + step) % size[:, None] + first[:, None]
            self._index = tf.gather(order, place)

    def same_class(self, rows: tf.Tensor) -> tf.Tensor:
        """Whether rows are of one class, `(rows, batch)`; true with itself."""
        return pairs.same_class(self.labels, rows)

    def exists(self, rows: tf.Tensor) -> tf.Tensor:
        """Which entries of `take` are of a positive, `(rows, n)`."""
        if self.is_listed:
            count = tf.gather(self.count, rows)[:, None]
            return tf.range(self.most) < count
        return pairs.positive_and_negative(self.labels, rows)[0]

    def take(self, matrix: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Returns the entries of the positives, `(rows, n)`.

        Args:
            matrix: `(rows, batch)`.
            rows: Indices of the rows, `(rows,)`.
        """
        if not self.is_listed:
            return matrix
        # A flat gather is twice as fast.
        start = tf.range(tf.size(rows))[:, None] * tf.size(self.labels)
        place = tf.gather(self._index, rows) + start
        return tf.gather(tf.reshape(matrix, [-1]), place)

    def of_columns(self, values: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
        """Returns `values` `(batch,)` of the positives, `(rows, n)`."""
        if not self.is_listed:
            return values[None]
        return tf.gather(values, tf.gather(self._index, rows))

    def add(
        self, matrix: tf.Tensor, rows: tf.Tensor, values: tf.Tensor
    ) -> tf.Tensor:
        """Adds `values` `(rows, n)`, 0 where none exists, to the positives."""
        if not self.is_listed:
            return matrix + values
        index = tf.gather(self._index, rows)
        row = tf.range(tf.size(rows))[:, None]
        place = tf.stack([tf.broadcast_to(row, tf.shape(index)), index], axis=2)
        return tf.tensor_scatter_nd_add(matrix, place, values)
