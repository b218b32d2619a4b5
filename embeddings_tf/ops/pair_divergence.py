"""The divergence between positive and negative pairs, from their logits."""

import math

import tensorflow as tf

from embeddings_tf.ops.pairs import mean_over
from embeddings_tf.ops.pairs import positive_and_negative

# Above this logit, exp continues as its tangent, so it does not overflow.
LARGEST_EXPONENT = 20.0


def pair_divergence(
    labels, logits, divergence, pair_weighting, flipped=None
) -> tf.Tensor:
    """Mean cost of positive pairs and mean cost of negative pairs, averaged.

    Args:
        labels: Class ids `(rows,)`.
        logits: `(rows, rows)`, large if both rows have the same class.
        divergence: `"jensen_shannon"` or `"kullback_leibler"`.
        pair_weighting: `"balanced"` or `"authors"`.
        flipped: None, or `(rows, rows)`: the weight of the wrong answer in
            the soft target of each pair.

    Returns:
        A scalar.
    """
    if_same, if_different = _costs(logits, divergence)
    if flipped is not None:
        difference = flipped * (if_different - if_same)
        if_same, if_different = if_same + difference, if_different - difference
    same, different = positive_and_negative(labels)
    if pair_weighting == "authors":
        same, different = counts_in_triplets(same, different)
    return (mean_over(same, if_same) + mean_over(different, if_different)) / 2


def flipped_targets(logits, smoothing: float, seed) -> tf.Tensor:
    """Random weights of the wrong answers, uniform in [0, smoothing / 2]."""
    return tf.random.stateless_uniform(
        tf.shape(logits),
        tf.cast(seed, tf.int32),
        maxval=smoothing / 2,
        dtype=logits.dtype,
        alg="philox",
    )


def _costs(logits, divergence) -> tuple[tf.Tensor, tf.Tensor]:
    """Cost of each pair if it is positive, and if it is negative."""
    if divergence == "jensen_shannon":
        return tf.nn.softplus(-logits), tf.nn.softplus(logits)
    small = tf.minimum(logits, LARGEST_EXPONENT)
    return -1 - logits, tf.exp(small) * (1 + logits - small)


def counts_in_triplets(same, different) -> tuple[tf.Tensor, tf.Tensor]:
    """Numbers of triplets with each (anchor, positive), (anchor, negative).

    A triplet is an anchor, a later row of its class, and a row of another
    class.
    """
    later = tf.cast(tf.linalg.band_part(same, 0, -1), tf.float32)
    negative = tf.cast(different, tf.float32)
    num_later = tf.reduce_sum(later, axis=1, keepdims=True)
    num_negative = tf.reduce_sum(negative, axis=1, keepdims=True)
    return later * num_negative, negative * num_later


def smoothed_cross_entropy(log_prob, labels, smoothing) -> tf.Tensor:
    """Cross-entropy `(rows,)` of log-probabilities `(rows, classes)`.

    The target of the label is `1 - smoothing`; the other classes share the
    rest. The value of a label without a class is NaN where it is no error, as
    under XLA.
    """
    num_classes = log_prob.shape[-1]
    elsewhere = smoothing / (num_classes - 1)
    of_label = tf.gather(log_prob, labels, batch_dims=1)
    is_class = (labels >= 0) & (labels < num_classes)
    nan = tf.constant(math.nan, log_prob.dtype)
    of_label = tf.where(is_class, of_label, nan)
    return -(1 - smoothing - elsewhere) * of_label - elsewhere * (
        tf.reduce_sum(log_prob, -1)
    )


def require_classes(labels: tf.Tensor, num_classes: int) -> tf.Tensor:
    """Returns `labels`; raises for labels outside `[0, num_classes)`.

    XLA leaves the check out; then `smoothed_cross_entropy` returns NaN.
    """
    message = (
        f"With an auxiliary classifier, labels must be in [0, {num_classes}). "
        "Number the training classes from 0; score classes that the "
        "classifier does not know with objective.distance."
    )
    known = (labels >= 0) & (labels < num_classes)
    if tf.executing_eagerly():
        if not tf.reduce_all(known):
            raise ValueError(f"{message} Received {labels[~known][0].numpy()}.")
        return labels
    with tf.control_dependencies(
        [tf.debugging.Assert(tf.reduce_all(known), [message, labels])]
    ):
        return tf.identity(labels)
