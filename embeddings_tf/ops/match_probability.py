"""The probability that two inputs match, from samples of their embeddings.

Two points match with the probability
`p(match | z_1, z_2) = sigmoid(offset - scale * ||z_1 - z_2||)`. For two inputs,
it is the mean over all pairs of their samples. Samples have the shape
`(num_samples, rows, dim)`; a point is a single sample.
"""

import math

import tensorflow as tf

from embeddings_tf.ops import gaussian
from embeddings_tf.ops.distances import square_root
from embeddings_tf.ops.pairs import mean_over
from embeddings_tf.ops.pairs import positive_and_negative
from embeddings_tf.ops.sigmoid_means import log_mean_sigmoid
from embeddings_tf.ops.sigmoid_means import mean_log_sigmoid
from embeddings_tf.ops.tensors import real_matrix
from embeddings_tf.ops.tensors import require_one_width

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
        samples: `(num_samples, rows, dim)`; `num_samples` is static.
        scale, offset: Scalars.
        of_probability: Whether p is the mean probability of the pairs of
            samples. False: `ln p` is the mean log-probability.

    Returns:
        A scalar.
    """
    positive, negative = positive_and_negative(labels)
    sign = 2 * tf.cast(positive, samples.dtype) - 1
    average = log_mean_sigmoid if of_probability else mean_log_sigmoid
    cost = -average(samples, None, scale, offset, sign)
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
    require_one_width(*sides)
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
    """Log-odds of a match, `(n,)`: row i of `first` with row i of `second`.

    Loops over the samples of `second`. Memory is a few times the samples.
    """

    def log_sums(sample):
        """Logs of the sums of p and of 1 - p over the samples of `first`."""
        # Not second[sample], which OpenVINO cannot run in a loop.
        other = tf.gather(second, sample)
        square = tf.math.squared_difference(first, other)
        logit = offset - scale * square_root(tf.reduce_sum(square, axis=-1))
        return [
            tf.reduce_logsumexp(tf.math.log_sigmoid(signed), axis=0)
            for signed in (logit, -logit)
        ]

    def add(sample, *sums):
        pairs = zip(sums, log_sums(sample), strict=True)
        return sample + 1, *(
            tf.reduce_logsumexp(pair, axis=0) for pair in pairs
        )

    if second.shape[0] == 1:  # without a loop, for other engines
        log_match, log_no_match = log_sums(0)
    else:
        num_samples = second.shape[0] or tf.shape(second)[0]
        nothing = tf.zeros_like(first[0, :, 0]) - math.inf
        _, log_match, log_no_match = tf.while_loop(
            lambda sample, *_: sample < num_samples,
            add,
            (tf.constant(0), nothing, nothing),
            parallel_iterations=1,
            maximum_iterations=num_samples,
        )
    # Both means divide by the number of samples, which cancels.
    return log_match - log_no_match


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
    return log_mean_sigmoid(first, second, scale, offset, sign)


@tf.function(input_signature=SAMPLES, autograph=False)
def _log_no_match(first, second, scale, offset) -> tf.Tensor:
    """Log of the mean probability of no match, `(n, m)`."""
    sign = -tf.ones((tf.shape(first)[1], tf.shape(second)[1]), first.dtype)
    return log_mean_sigmoid(first, second, scale, offset, sign)
