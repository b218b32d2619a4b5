"""Shares of the pairs or queries of a batch that still have a gradient."""

import math

import tensorflow as tf

from embeddings_tf.ops import pairs

# The derivative of -ln p in the logit is 1 - p. From here on, it is below a
# hundredth of its largest value.
LEARNED = 0.99
LEARNED_LOGIT = math.log(LEARNED / (1 - LEARNED))


def active_pairs(labels, logits) -> tf.Tensor:
    """Share of pairs whose right answer has a probability below 0.99.

    Args:
        labels: Integers `(rows,)`.
        logits: `(rows, rows)`, the log-odds that two rows have one class.

    Returns:
        A scalar; 0 without pairs.
    """
    positive, negative = pairs.positive_and_negative(labels)
    right = tf.where(positive, logits, -logits)
    active = tf.cast(right < LEARNED_LOGIT, tf.float64)
    return pairs.mean_over(positive | negative, active)


def active_queries(log_prob) -> tf.Tensor:
    """Share of queries whose right class has a probability below 0.99.

    Args:
        log_prob: `(queries,)`, of the right classes.

    Returns:
        A scalar; 0 without queries.
    """
    active = tf.cast(log_prob < math.log(LEARNED), tf.float64)
    return pairs.mean_over(tf.ones_like(active), active)
