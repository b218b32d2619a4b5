"""Distances between rows of embeddings."""

import tensorflow as tf


def squared_l2(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Squared Euclidean distances `(len(a), len(b))`, never negative.

    Differences are taken before squaring: exact for close points far from
    the origin, at `len(a) * len(b) * dim` floats of memory.
    """
    return tf.reduce_sum(tf.math.squared_difference(a[:, None], b[None]), -1)
