"""The probability that two inputs match, from samples of their embeddings.

Two points match with the probability
`p(match | z_1, z_2) = sigmoid(offset - scale * ||z_1 - z_2||)`. For two inputs,
it is the mean over all pairs of their samples. Samples have the shape
`(num_samples, rows, dim)`; a point is a single sample.
"""

import numpy as np
import tensorflow as tf

from embeddings_tf.ops import gaussian
from embeddings_tf.ops.distances import RESOLUTION
from embeddings_tf.ops.distances import square_root
from embeddings_tf.ops.labelled_batch import real_matrix
from embeddings_tf.ops.pairs import mean_over
from embeddings_tf.ops.pairs import positive_and_negative

# Samples of both sides, scale and offset. Shapes are open, so each function is
# traced once for all models, shapes and calls.
SAMPLES = [
    *[tf.TensorSpec((None, None, None), tf.float64)] * 2,
    *[tf.TensorSpec((), tf.float64)] * 2,
]


def match_loss(labels, samples, scale, offset, of_probability) -> tf.Tensor:
    """Mean cost of positive pairs and mean cost of negative pairs, averaged.

    A positive pair costs `-ln p(match)`, a negative pair
    `-ln(1 - p(match))`. The mean of no pairs is 0.

    Args:
        labels: Class ids `(rows,)`.
        samples: `(num_samples, rows, dim)`.
        scale, offset: Scalars.
        of_probability: As in `log_average`.

    Returns:
        A scalar.
    """
    positive, negative = positive_and_negative(labels)
    sign = 2 * tf.cast(positive, samples.dtype) - 1
    cost = -log_average(samples, samples, scale, offset, sign, of_probability)
    return (mean_over(positive, cost) + mean_over(negative, cost)) / 2


def samples_of_rows(mean, variance, num_samples, seed) -> tf.Tensor:
    """Draws samples of each row's Gaussian; each row has its own noise."""
    noise = tf.random.stateless_normal(
        tf.concat([[num_samples], tf.shape(mean)], 0),
        seed,
        dtype=mean.dtype,
        alg="philox",
    )
    return mean + square_root(variance) * noise


def samples_of_sets(first, second, num_samples, seed, dtype) -> list[tf.Tensor]:
    """Draws samples of two sets of packed Gaussians, in float64.

    All rows of a set share the same noise; the two sets have different noise.
    """
    sides = [
        real_matrix("Gaussians", packed, dtype) for packed in (first, second)
    ]
    moments = [gaussian.unpack(packed) for packed in sides]
    gaussian.require_one_dim(*sides)
    samples = []
    for side, (mean, variance) in enumerate(moments):
        noise = gaussian.standard_normal(
            num_samples,
            mean.shape[-1],
            seed,
            mean.dtype,
            stream=side,
        )
        mean, variance, noise = (
            tf.cast(tensor, tf.float64) for tensor in (mean, variance, noise)
        )
        samples.append(mean + square_root(variance) * noise[:, None])
    return samples


def logit_by_row(first, second, scale, offset) -> tf.Tensor:
    """Log-odds of a match, `(n,)`: row i of `first` with row i of `second`."""
    square = tf.math.squared_difference(first[:, None], second)
    logit = offset - scale * square_root(tf.reduce_sum(square, axis=-1))
    # Both means divide by the number of samples, which cancels.
    return tf.reduce_logsumexp(
        tf.math.log_sigmoid(logit), axis=(0, 1)
    ) - tf.reduce_logsumexp(tf.math.log_sigmoid(-logit), axis=(0, 1))


def logit_of_all_pairs(first, second, scale, offset) -> tf.Tensor:
    """Log-odds of a match, `(n, m)`: every row with every row of `second`."""
    # p and 1 - p are computed separately: near p = 1, 1 - p would be rounded.
    return log_match(first, second, scale, offset) - _log_no_match(
        first, second, scale, offset
    )


@tf.function(input_signature=SAMPLES, autograph=False)
def log_match(first, second, scale, offset) -> tf.Tensor:
    """Log of the mean probability of a match, `(n, m)`."""
    sign = tf.ones((tf.shape(first)[1], tf.shape(second)[1]), first.dtype)
    return log_average(first, second, scale, offset, sign, True)


@tf.function(input_signature=SAMPLES, autograph=False)
def _log_no_match(first, second, scale, offset) -> tf.Tensor:
    """Log of the mean probability of no match, `(n, m)`."""
    sign = -tf.ones((tf.shape(first)[1], tf.shape(second)[1]), first.dtype)
    return log_average(first, second, scale, offset, sign, True)


def log_average(first, second, scale, offset, sign, of_probability):
    """Log of the mean probability, or mean log-probability, of an outcome.

    The outcome of rows i and j is a match where `sign[i, j]` is 1, and no match
    where it is -1. Its probability is sigmoid(sign * logit).

    Loops over the pairs of samples, and once more for the gradient, so memory
    does not grow with the number of samples.

    Args:
        first: `(num_samples, n, dim)`.
        second: `(num_samples, m, dim)`.
        scale, offset: Scalars.
        sign: `(n, m)`.
        of_probability: True for the log of the mean probability, False for
            the mean log-probability.

    Returns:
        `(n, m)`.
    """
    num_samples = first.shape[0]
    if num_samples is None:
        num_samples = tf.shape(first)[0]
    num_pairs = num_samples * num_samples
    dtype = first.dtype
    # Centred points have the same distances, with smaller rounding errors.
    middle = tf.reduce_mean(tf.cast(first, tf.float64), axis=(0, 1))
    middle = tf.stop_gradient(tf.cast(middle, dtype))
    # An empty batch has no mean; use 0.
    middle = tf.where(tf.size(first) > 0, middle, tf.zeros_like(middle))

    def loop(step, *start):
        """`step(i, j, *sums) -> sums` for all pairs of samples."""
        return tf.while_loop(
            lambda pair, *_: pair < num_pairs,
            lambda pair, *sums: (
                pair + 1,
                *step(pair // num_samples, pair % num_samples, *sums),
            ),
            (tf.constant(0), *start),
            parallel_iterations=1,
        )[1:]

    @tf.custom_gradient
    def centred(first, second, scale, offset):
        def logits(i, j):
            """Two samples in float64, their distances, and signed logits."""
            # Not first[i], which OpenVINO cannot run in a loop.
            pair = tf.gather(first, i), tf.gather(second, j)
            a, b = (tf.cast(z, tf.float64) for z in pair)
            norms = tf.reduce_sum(a * a, -1)[:, None] + tf.reduce_sum(b * b, -1)
            square = norms - 2 * tf.matmul(a, b, transpose_b=True)
            coincide = square <= RESOLUTION * norms
            square = tf.where(coincide, tf.zeros_like(square), square)
            # Limited, so that the logit is finite.
            distance = tf.minimum(tf.sqrt(square), 1e-6 * dtype.max)
            distance = tf.cast(distance, dtype)
            return a, b, distance, sign * (offset - scale * distance)

        zeros = tf.zeros_like(sign)
        if of_probability:
            # Relative to the largest, probabilities do not under- or overflow:
            # sigmoid(x) / exp(m) = 1 / (exp(m - x) + exp(m)).
            (most,) = loop(
                lambda i, j, most: (tf.maximum(most, logits(i, j)[-1]),),
                zeros - np.inf,
            )
            most = tf.minimum(most, 0)
            part = tf.exp(most)

            def relative(logit):
                return 1 / (tf.exp(most - logit) + part)

            (added,) = loop(
                lambda i, j, added: (added + relative(logits(i, j)[-1]),), zeros
            )
            total = most + tf.math.log(added)
        else:
            (total,) = loop(
                lambda i, j, total: (
                    total + tf.math.log_sigmoid(logits(i, j)[-1]),
                ),
                zeros,
            )

        def gradient(upstream):
            def add_gradient(i, j, by_first, by_second, by_scale, by_offset):
                a, b, distance, logit = logits(i, j)
                share = 1 / tf.cast(num_pairs, dtype)
                if of_probability:
                    share = relative(logit) / added
                by_logit = upstream * share * sign * tf.sigmoid(-logit)
                by_square = tf.cast(
                    tf.math.divide_no_nan(-scale * by_logit, distance),
                    tf.float64,
                )
                of_a = tf.reduce_sum(by_square, 1)[:, None] * a - tf.matmul(
                    by_square, b
                )
                of_b = tf.reduce_sum(by_square, 0)[:, None] * b - tf.matmul(
                    by_square, a, transpose_a=True
                )
                # A scatter fails without rows.
                i, j = tf.unstack(
                    tf.one_hot([i, j], num_samples, dtype=tf.float64)
                )
                return (
                    by_first + i[:, None, None] * of_a,
                    by_second + j[:, None, None] * of_b,
                    by_scale - tf.reduce_sum(by_logit * distance),
                    by_offset + tf.reduce_sum(by_logit),
                )

            sums = loop(
                add_gradient,
                tf.zeros_like(first, tf.float64),
                tf.zeros_like(second, tf.float64),
                tf.zeros_like(scale),
                tf.zeros_like(offset),
            )
            return [tf.cast(total, dtype) for total in sums]

        if of_probability:
            return total - tf.math.log(tf.cast(num_pairs, dtype)), gradient
        return total / tf.cast(num_pairs, dtype), gradient

    return centred(first - middle, second - middle, scale, offset)
