"""The hardest triplets of a batch, and the semi-hard ones."""

import math

import tensorflow as tf

from embeddings_tf.ops import distances
from embeddings_tf.ops import pairs


def mined_triplets(
    labels: tf.Tensor,
    embeddings: tf.Tensor,
    margin: float,
    distance: str,
    mining: str,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Hinges of mined triplets, and which of them exist.

    Args:
        labels: Integers `(batch,)`.
        embeddings: `(batch, dim)`.
        margin, distance: As in `TripletLoss`.
        mining: A key of `MINERS`.

    Returns:
        Two tensors of one shape, `(batch,)` or `(batch, batch)`.
    """
    d = distances.WITHIN[distance](embeddings)
    positive, negative = pairs.positive_and_negative(labels)
    return MINERS[mining](d, positive, negative, margin)


def _hard(d, positive, negative, margin):
    """Hinges `(batch,)` of the farthest positive and nearest negative."""
    is_triplet = tf.reduce_any(positive, 1) & tf.reduce_any(negative, 1)
    farthest = tf.reduce_max(tf.where(positive, d, d.dtype.min), 1)
    nearest = tf.reduce_min(tf.where(negative, d, d.dtype.max), 1)
    hinge = tf.nn.relu(margin + tf.where(is_triplet, farthest, 0) - nearest)
    # The maximum of XLA leaves NaN out.
    has_nan = tf.reduce_any(tf.math.is_nan(d), 1)
    return tf.where(has_nan, tf.constant(math.nan, d.dtype), hinge), is_triplet


def _semi_hard(d, positive, negative, margin):
    """Hinges `(batch, batch)` of a positive and the next negative beyond it."""
    num_rows = tf.shape(d)[0]
    nearest = tf.math.top_k(tf.where(negative, -d, d.dtype.min), num_rows)
    beyond = tf.searchsorted(-nearest.values, d, side="right")
    last = pairs.count(negative, tf.int32, 1)[:, None] - 1
    beyond = tf.minimum(beyond, tf.maximum(last, 0))
    beyond = tf.gather(nearest.indices, beyond, batch_dims=1)
    beyond += num_rows * tf.range(num_rows)[:, None]
    beyond = tf.gather(tf.reshape(d, [-1]), beyond)
    is_triplet = positive & (last >= 0)
    return tf.nn.relu(margin + d - beyond), is_triplet


MINERS = {"hard": _hard, "semi_hard": _semi_hard}
