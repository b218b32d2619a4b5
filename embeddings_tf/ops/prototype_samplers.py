"""Log-probability of classes given Gaussian prototypes, by sampling.

Queries and classes are diagonal Gaussians, each a mean and a variance
`(rows, dim)`. The probability of a class is the mean, over samples of the
query, of a softmax of the classes' densities (Eq. 7 of
`StochasticPrototypes`).
"""

import numpy as np
import tensorflow as tf

from embeddings_tf.ops import gaussian
from embeddings_tf.ops.numerics import finite
from embeddings_tf.ops.numerics import log_mean_exp
from embeddings_tf.ops.seed_pair import seed_pair

SAMPLERS = ("intersection", "naive")

# Numbers in a block of samples: 16 MiB in float64.
BLOCK_FLOATS = 2**21


def naive_log_prob(
    mean, variance, class_mean, class_variance, num_samples, seed
) -> tf.Tensor:
    """Log-probability of each class, from samples of each query.

    Each query has its own noise. Memory does not depend on the number of
    samples.

    Args:
        mean, variance: Queries, `(queries, dim)`.
        class_mean, class_variance: Classes, `(classes, dim)`.
        num_samples: Samples per query.
        seed: Integers `(2,)`.

    Returns:
        `(queries, classes)`.
    """
    stddev = tf.sqrt(variance)
    classes = gaussian.diagonal_normal(class_mean, class_variance)

    def sample_log_prob(index):
        noise = tf.random.stateless_normal(
            tf.shape(mean),
            tf.random.experimental.stateless_fold_in(seed, index, alg="philox"),
            dtype=mean.dtype,
            alg="philox",
        )
        z = mean + stddev * noise
        return tf.nn.log_softmax(classes.log_prob(z[:, None]))

    def add_sample(index, total):
        total = tf.reduce_logsumexp(
            tf.stack([total, sample_log_prob(index)]), axis=0
        )
        return index + 1, total

    _, total = tf.while_loop(
        lambda index, _: index < num_samples,
        add_sample,
        (tf.constant(1), sample_log_prob(tf.constant(0))),
    )
    return total - np.log(num_samples)


def intersection_log_prob(
    mean, variance, targets, class_mean, class_variance, num_samples, seed
) -> tf.Tensor:
    """Log-probability of each query's own class, by the intersection sampler.

    Samples are drawn from the normalised product of the query and its class
    (Eqs. 8 and 9). The estimate may exceed 1.

    Args:
        mean, variance: Queries, `(queries, dim)`.
        targets: The class of each query, `(queries,)`.
        class_mean, class_variance: Classes, `(classes, dim)`.
        num_samples: Samples per query.
        seed: Integers `(2,)`.

    Returns:
        `(queries,)`.
    """
    target_mean = tf.gather(class_mean, targets)
    target_variance = tf.gather(class_variance, targets)
    overlap = gaussian.diagonal_normal(
        target_mean, target_variance + variance
    ).log_prob(mean)
    product_mean, product_variance = gaussian.product(
        (mean, variance), (target_mean, target_variance)
    )
    noise = tf.random.stateless_normal(
        tf.concat([[num_samples], tf.shape(mean)], 0),
        seed,
        dtype=mean.dtype,
        alg="philox",
    )
    z = product_mean + tf.sqrt(product_variance) * noise
    classes = gaussian.diagonal_normal(class_mean, class_variance)
    evidence = tf.reduce_logsumexp(classes.log_prob(z[:, :, None]), -1)
    return overlap + tf.reduce_logsumexp(-evidence, 0) - np.log(num_samples)


def shared_log_prob(
    mean, variance, class_mean, class_variance, num_samples, seed, sampler
) -> tf.Tensor:
    """Log-probability of each class, with the same noise for all queries.

    The noise is scaled by the variance of each query, so the result of a query
    does not depend on the other queries. Probabilities are computed in
    float64, and results are finite. `sampler` is a name in `SAMPLERS`. The
    other arguments and the result are as in `naive_log_prob`.
    """
    noise = gaussian.standard_normal(
        num_samples, mean.shape[-1], seed, mean.dtype
    )
    tensors = [
        tf.cast(tensor, tf.float64)
        for tensor in (mean, variance, class_mean, class_variance, noise)
    ]
    if sampler == "naive":
        log_prob = log_mean_softmax(*tensors)
    else:
        first = tf.random.stateless_uniform(
            (),
            tf.random.experimental.stateless_fold_in(
                seed_pair(seed, True), 1, alg="philox"
            ),
            dtype=tf.float64,
            alg="philox",
        )
        log_prob = _log_weighted_softmax(*tensors, first)
    lowest = tf.constant(mean.dtype.min, tf.float64)
    return tf.cast(tf.maximum(log_prob, lowest), mean.dtype)


def log_evidence(mean, variance, class_mean, class_variance) -> tf.Tensor:
    """Log-density of queries, `(queries,)`, under equally likely classes.

    The result is finite.
    """
    dtype = mean.dtype
    mean, variance, class_mean, class_variance = (
        tf.cast(tensor, tf.float64)
        for tensor in (mean, variance, class_mean, class_variance)
    )
    densities = gaussian.log_density(
        mean[:, None] - class_mean, variance[:, None] + class_variance
    )
    return finite(log_mean_exp(densities), dtype)


# Mean and variance of queries and of classes, and noise. Shapes are open, so
# each function is traced once for all models, shapes and calls.
OPEN = [tf.TensorSpec((None, None), tf.float64)] * 5


@tf.function(input_signature=OPEN, autograph=False)
def log_mean_softmax(mean, variance, class_mean, class_variance, noise):
    """Log of the mean over samples of softmax of the classes' densities.

    Args:
        mean: Means of queries, `(queries, dim)`.
        variance: Variances of queries, `(queries, dim)`.
        class_mean: `(classes, dim)`.
        class_variance: `(classes, dim)`, positive.
        noise: Standard normal draws `(num_samples, dim)`, the same for all
            queries.

    Returns:
        `(queries, classes)`.
    """
    stddev = tf.sqrt(variance)
    total = _log_sum_over_samples(
        lambda noise, _: mean + stddev * noise[:, None],
        tf.nn.log_softmax,
        (tf.shape(mean)[0], class_mean, class_variance),
        noise,
    )
    return total - tf.math.log(tf.cast(tf.shape(noise)[0], tf.float64))


@tf.function(
    input_signature=[*OPEN, tf.TensorSpec((), tf.float64)], autograph=False
)
def _log_weighted_softmax(
    mean, variance, class_mean, class_variance, noise, first
):
    """Like `log_mean_softmax`, with weighted samples of intersections.

    Samples are drawn from the density that is proportional to
    `N(z; query) * sum over c of N(z; c)`, a mixture of the products of the
    query with each class. So the weight of a sample z is
    1 / sum over c of N(z; c).

    Args:
        mean, variance, class_mean, class_variance, noise: As in
            `log_mean_softmax`.
        first: Offset in [0, 1) of the regular steps that assign a product to
            each sample (systematic sampling).

    Returns:
        `(queries, classes)`.
    """
    num_samples = tf.cast(tf.shape(noise)[0], tf.float64)
    query = mean[:, None], variance[:, None]
    mass = gaussian.log_density(
        query[0] - class_mean, query[1] + class_variance
    )
    reached = tf.cumsum(tf.nn.softmax(mass), axis=-1)
    product_mean, product_variance = gaussian.product(
        query, (class_mean, class_variance)
    )
    product_stddev = tf.sqrt(product_variance)

    def sample(noise, numbers):
        steps = (tf.cast(numbers, tf.float64) + first) / num_samples
        steps = tf.broadcast_to(
            steps, [tf.shape(mean)[0], tf.shape(numbers)[0]]
        )
        chosen = tf.searchsorted(reached, steps, side="right")
        # The last cumulative probability may be rounded below 1.
        chosen = tf.minimum(chosen, tf.shape(reached)[1] - 1)
        z = tf.gather(product_mean, chosen, batch_dims=1)
        z += tf.gather(product_stddev, chosen, batch_dims=1) * noise
        return tf.transpose(z, [1, 0, 2])

    def weighted_softmax(log_density):
        evidence = tf.reduce_logsumexp(log_density, axis=-1, keepdims=True)
        return log_density - 2 * evidence

    total = _log_sum_over_samples(
        sample,
        weighted_softmax,
        (tf.shape(mean)[0], class_mean, class_variance),
        noise,
    )
    return tf.nn.log_softmax(total)


def _log_sum_over_samples(sample, log_term, classes, noise):
    """Log of the sum over samples of a function of the classes' densities.

    Args:
        sample: Function from noise `(block, dim)` and sample numbers `(block,)`
            to samples of the queries `(block, queries, dim)`.
        log_term: Function from log-densities (up to a constant) to the
            logarithms of the terms, both `(block, queries, classes)`.
        classes: The number of queries, `class_mean` and `class_variance`.
        noise: `(num_samples, dim)`.

    Returns:
        `(queries, classes)`.
    """
    num_queries, class_mean, class_variance = classes
    num_samples, dim = tf.unstack(tf.shape(noise))
    floats = num_queries * tf.size(class_mean)
    block = tf.clip_by_value(
        BLOCK_FLOATS // tf.maximum(floats, 1), 1, num_samples
    )
    num_blocks = (num_samples + block - 1) // block
    padding = num_blocks * block - num_samples
    # XLA needs blocks of equal length; padding in the last block is ignored.
    noise = tf.reshape(
        tf.pad(noise, [[0, padding], [0, 0]]), [num_blocks, block, dim]
    )
    # Made outside the loop: inside, XLA would not know the block's length.
    number = tf.reshape(tf.range(num_blocks * block), [num_blocks, block])
    precision = 1 / class_variance
    log_volume = tf.reduce_sum(tf.math.log(class_variance), axis=-1)

    def add_block(index, total):
        z = sample(noise[index], number[index])
        square = tf.math.squared_difference(z[:, :, None], class_mean)
        exponent = tf.reduce_sum(square * precision, axis=-1) + log_volume
        terms = log_term(-exponent / 2)
        is_sample = (number[index] < num_samples)[:, None, None]
        terms = tf.where(is_sample, terms, -np.inf)
        total = tf.concat([total[None], terms], axis=0)
        return index + 1, tf.reduce_logsumexp(total, axis=0)

    start = tf.fill([num_queries, tf.shape(class_mean)[0]], -np.inf)
    _, total = tf.while_loop(
        lambda index, _: index < num_blocks,
        add_block,
        (tf.constant(0), tf.cast(start, tf.float64)),
        parallel_iterations=1,
    )
    return total
