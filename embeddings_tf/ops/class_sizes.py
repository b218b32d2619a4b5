"""The number of rows of each class of a batch."""

import tensorflow as tf


def class_sizes(labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Numbers the classes 0, 1, ... and counts their rows.

    Returns:
        int32 class of each row, `(batch,)`; int32 rows of each class, followed
        by zeros, `(batch,)`.
    """
    _, ids = tf.unique(labels)
    # One counter per row suffices, and XLA knows this size.
    return ids, tf.math.unsorted_segment_sum(
        tf.ones_like(ids), ids, tf.size(ids)
    )
