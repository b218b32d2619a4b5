"""Supports and queries of an episode, from the labels of a batch."""

from typing import NamedTuple

import tensorflow as tf

from embeddings_tf.ops.class_sizes import class_sizes


class Episode(NamedTuple):
    """The rows of one batch as supports and queries.

    class_ids: int32 `(batch,)`, labels as 0, 1, ... in order of appearance.
    num_classes: int32 scalar.
    is_support: bool `(batch,)`.
    """

    class_ids: tf.Tensor
    num_classes: tf.Tensor
    is_support: tf.Tensor

    def supports(self, rows: tf.Tensor) -> tf.Tensor:
        """Returns the supports of `(batch, ...)`, in batch order."""
        return tf.boolean_mask(rows, self.is_support)

    def queries(self, rows: tf.Tensor) -> tf.Tensor:
        """Returns the queries of `(batch, ...)`, in batch order."""
        return tf.boolean_mask(rows, tf.logical_not(self.is_support))


def split_episode(labels: tf.Tensor, num_support: int) -> Episode:
    """Splits rows: the first `num_support` rows of a label are supports.

    The rows may be in any order; only the order among rows of one label
    matters. A class with `num_support` rows or fewer has no query.
    """
    classes, class_ids = tf.unique(labels)
    rank, _ = _rank_and_count(class_ids)
    return Episode(class_ids, tf.size(classes), rank < num_support)


def split_halves(labels: tf.Tensor) -> Episode:
    """Splits rows: the first half of each label, rounded up, are supports."""
    classes, class_ids = tf.unique(labels)
    rank, count = _rank_and_count(class_ids)
    return Episode(class_ids, tf.size(classes), 2 * rank < count)


def _rank_and_count(class_ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Place of each row among the rows of its class, and their number."""
    order = tf.argsort(class_ids, stable=True)
    _, counts = class_sizes(class_ids)
    first = tf.cumsum(counts, exclusive=True)
    rank_in_order = tf.range(tf.size(class_ids)) - tf.gather(
        first, tf.gather(class_ids, order)
    )
    rank = tf.scatter_nd(order[:, None], rank_in_order, tf.shape(class_ids))
    return rank, tf.gather(counts, class_ids)
