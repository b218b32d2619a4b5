"""Supports and queries of an episode, from the labels of a batch."""

from typing import NamedTuple

import tensorflow as tf


class Episode(NamedTuple):
    """The rows of one batch as supports and queries.

    class_ids: int32 `(batch,)`, labels as 0, 1, ... in order of appearance.
    num_classes: int32 scalar.
    is_support: bool `(batch,)`.
    """

    class_ids: tf.Tensor
    num_classes: tf.Tensor
    is_support: tf.Tensor


def split_episode(labels: tf.Tensor, num_support: int) -> Episode:
    """Splits rows: the first `num_support` rows of a label are supports.

    The rows may be in any order; only the order among rows of one label
    matters. A class with `num_support` rows or fewer has no query.
    """
    classes, class_ids = tf.unique(labels)
    num_classes = tf.size(classes)
    order = tf.argsort(class_ids, stable=True)
    # One counter per row suffices, and XLA knows this size.
    counts = tf.math.unsorted_segment_sum(
        tf.ones_like(class_ids), class_ids, tf.size(labels)
    )
    first = tf.cumsum(counts, exclusive=True)
    rank_in_order = tf.range(tf.size(labels)) - tf.gather(
        first, tf.gather(class_ids, order)
    )
    rank = tf.scatter_nd(order[:, None], rank_in_order, tf.shape(labels))
    return Episode(class_ids, num_classes, rank < num_support)


def mean_over_queries(values: tf.Tensor) -> tf.Tensor:
    """Returns the mean of `(queries,)`, 0 for a batch without queries."""
    return tf.math.divide_no_nan(
        tf.reduce_sum(values), tf.cast(tf.size(values), values.dtype)
    )
