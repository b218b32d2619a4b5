"""Gaussians in the plane with full covariance.

A packed Gaussian is `(..., 5)`: the mean (2), the variances (2) and the
covariance. Inverses of 2 x 2 matrices are written out, for XLA and for speed.
Only this file knows the order.
"""

import math

import tensorflow as tf

WIDTH = 5
SMALLEST_VARIANCE = 1e-12
LARGEST_CORRELATION = 0.999


def from_features(features: tf.Tensor) -> tf.Tensor:
    """Any numbers `(..., 5)` as packed Gaussians, float64.

    The variances are a softplus, the correlation is a hyperbolic tangent. A
    row with a number that is not finite becomes NaN.
    """
    features = tf.cast(features, tf.float64)
    is_finite = tf.reduce_all(
        tf.math.is_finite(features), axis=-1, keepdims=True
    )
    features = tf.where(is_finite, features, math.nan)
    variance = tf.nn.softplus(features[..., 2:4]) + SMALLEST_VARIANCE
    correlation = LARGEST_CORRELATION * tf.tanh(features[..., 4])
    stddev = tf.sqrt(variance)
    covariance = correlation * stddev[..., 0] * stddev[..., 1]
    return tf.concat(
        [features[..., :2], variance, covariance[..., None]], axis=-1
    )


def mean(packed: tf.Tensor) -> tf.Tensor:
    """Means `(..., 2)`."""
    return packed[..., :2]


def difference(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
    """The Gaussian of the difference: means subtract, covariances add."""
    return tf.concat(
        [first[..., :2] - second[..., :2], first[..., 2:] + second[..., 2:]],
        axis=-1,
    )


def add_variance(packed: tf.Tensor, variance) -> tf.Tensor:
    """Adds a variance to both dimensions."""
    return packed + tf.constant([0, 0, 1, 1, 0], packed.dtype) * variance


def log_density(packed: tf.Tensor, at=0.0) -> tf.Tensor:
    """Log-density of packed Gaussians `(..., 5)` at points `(..., 2)`."""
    first, second = tf.unstack(at - mean(packed), axis=-1)
    variance_1, variance_2, covariance = tf.unstack(packed[..., 2:], axis=-1)
    determinant = variance_1 * variance_2 - covariance**2
    square = variance_2 * first**2 + variance_1 * second**2
    square -= 2 * covariance * first * second
    return -(square / determinant + tf.math.log(determinant)) / 2 - math.log(
        2 * math.pi
    )


def _to_precision(packed: tf.Tensor) -> tf.Tensor:
    """The precision matrix and its product with the mean, `(..., 5)`."""
    precision = _inverse(packed[..., 2:])
    return tf.concat([_times(precision, mean(packed)), precision], axis=-1)


def _from_precision(packed: tf.Tensor) -> tf.Tensor:
    covariance = _inverse(packed[..., 2:])
    return tf.concat([_times(covariance, mean(packed)), covariance], axis=-1)


def _inverse(matrix):
    """Inverse of symmetric matrices `(..., 3)`: diagonal, off-diagonal."""
    first, second, both = tf.unstack(matrix, axis=-1)
    determinant = first * second - both**2
    inverse = tf.stack([second, first, -both], axis=-1)
    return inverse / determinant[..., None]


def _times(matrix, vector):
    """Symmetric matrices `(..., 3)` times vectors `(..., 2)`."""
    first, second, both = tf.unstack(matrix, axis=-1)
    x, y = tf.unstack(vector, axis=-1)
    return tf.stack([first * x + both * y, both * x + second * y], axis=-1)


def posterior(packed: tf.Tensor, class_ids, num_classes) -> tf.Tensor:
    """The product of each class's Gaussians: precision-weighted means.

    Formula, for the rows `i` of class `y` with covariances `C_i`:

        C_y    = inverse(sum_i inverse(C_i))
        mean_y = C_y (sum_i inverse(C_i) mean_i)

    `packed` is `(n, 5)`, `class_ids` `(n,)`; every class has a row.
    Returns `(num_classes, 5)`.
    """
    total = tf.math.unsorted_segment_sum(
        _to_precision(packed), class_ids, num_classes
    )
    return _from_precision(total)


def product(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
    """The normalised product of two Gaussians."""
    return _from_precision(_to_precision(first) + _to_precision(second))


def sample(packed: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
    """Moves standard normal draws `(..., 2)` to packed Gaussians."""
    first, second = tf.unstack(noise, axis=-1)
    variance_1, variance_2, covariance = tf.unstack(packed[..., 2:], axis=-1)
    stddev = tf.sqrt(variance_1)
    left = tf.sqrt((variance_1 * variance_2 - covariance**2) / variance_1)
    move = stddev * first, covariance / stddev * first + left * second
    return mean(packed) + tf.stack(move, axis=-1)


@tf.function(
    input_signature=[
        tf.TensorSpec((None, width), tf.float64) for width in (WIDTH, WIDTH, 2)
    ],
    autograph=False,
)
def log_mean_softmax(queries, classes, noise):
    """Log of the mean over samples of softmax of the classes' densities.

    Args:
        queries: Packed, `(queries, 5)`.
        classes: Packed, `(classes, 5)`.
        noise: Standard normal draws `(num_samples, 2)`, the same for all
            queries.

    Returns:
        `(queries, classes)`.
    """

    def add_sample(total, draw):
        z = sample(queries, draw)
        log_prob = tf.nn.log_softmax(log_density(classes, z[:, None]))
        return tf.reduce_logsumexp(tf.stack([total, log_prob]), axis=0)

    shape = tf.shape(queries)[0], tf.shape(classes)[0]
    nothing = tf.fill(shape, tf.constant(-math.inf, tf.float64))
    total = tf.foldl(add_sample, noise, nothing, parallel_iterations=1)
    return total - tf.math.log(tf.cast(tf.shape(noise)[0], tf.float64))
