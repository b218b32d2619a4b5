"""Means and casts that stay finite, and numbers that are not."""

import math

import tensorflow as tf


def log_mean_exp(scores: tf.Tensor) -> tf.Tensor:
    """`log mean exp` over the last axis, `(queries,)` of `(queries, classes)`.

    With log-likelihoods, or log-likelihood ratios, of equally likely classes,
    this is the evidence for any of them.
    """
    count = tf.cast(tf.shape(scores)[-1], scores.dtype)
    return tf.reduce_logsumexp(scores, axis=-1) - tf.math.log(count)


def finite(values: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """Casts float64 values to a dtype, clipped to its range."""
    limits = float(dtype.min), float(dtype.max)
    return tf.cast(tf.clip_by_value(values, *limits), dtype)


def finite_or_nan(values: tf.Tensor) -> tf.Tensor:
    """Replaces infinite numbers by NaN, which a later clip does not hide."""
    nan = tf.constant(math.nan, values.dtype)
    return tf.where(tf.math.is_finite(values), values, nan)


def mean_or_zero(values: tf.Tensor) -> tf.Tensor:
    """Returns the mean of `(n,)`; 0 without values."""
    return tf.math.divide_no_nan(
        tf.reduce_sum(values), tf.cast(tf.size(values), values.dtype)
    )
