"""Distances and similarities between rows of embeddings."""

import math

import tensorflow as tf

# Sums of a few squared distances stay in the range of float32.
LARGEST_SQUARE = 1e38
# Squared, relative to the squared norms: about one digit of float32.
RESOLUTION = 2e-14
# Rows without an entry as large as this count as zero.
SMALLEST_ENTRY = 1e-30


def squared_l2(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Squared Euclidean distances `(len(a), len(b))`, never negative.

    Differences are taken before squaring: exact for close points far from
    the origin, at `len(a) * len(b) * dim` floats of memory. The value stops
    at a millionth of the largest float, so that sums of it are finite; the
    gradient does not. It is NaN for a row that is not finite.
    """
    square = tf.math.squared_difference(a[:, None], b[None])
    square = _bounded(tf.reduce_sum(square, -1))
    is_finite = tf.reduce_all(tf.math.is_finite(a), -1)[
        :, None
    ] & tf.reduce_all(tf.math.is_finite(b), -1)
    return tf.where(is_finite, square, tf.constant(math.nan, square.dtype))


@tf.custom_gradient
def _bounded(square: tf.Tensor):
    """At most a millionth of the largest float; the gradient goes on."""
    bounded = tf.minimum(square, 1e-6 * square.dtype.max)
    return bounded, lambda upstream: upstream


def squared_l2_within(z: tf.Tensor) -> tf.Tensor:
    """Squared Euclidean distances `(batch, batch)` among the rows of `z`.

    Takes `batch * batch` floats of memory, whatever the dimension. The inner
    products are float64, or close points would lose their digits; points
    closer than 1e-7 of their norms coincide, and exactly. The value stops at
    1e38, the gradient does not.
    """

    @tf.custom_gradient
    def distances(z):
        exact = tf.cast(z, tf.float64)
        products = tf.matmul(exact, exact, transpose_b=True)
        norms = tf.linalg.diag_part(products)
        square = norms[:, None] + norms - 2 * products
        coincide = square <= RESOLUTION * norms
        square = tf.minimum(tf.cast(square, z.dtype), LARGEST_SQUARE)

        def gradient(upstream):
            # The sum over j of 2 (g_ij + g_ji) (z_i - z_j). Here float32 is
            # enough: the error is that of rounding z, once it is centred.
            weight = 2 * (upstream + tf.transpose(upstream))
            total = tf.reduce_sum(weight, axis=1, keepdims=True)
            centred = z - tf.reduce_mean(z, axis=0)
            return total * centred - tf.matmul(weight, centred)

        return tf.where(coincide, tf.zeros_like(square), square), gradient

    return distances(z)


@tf.custom_gradient
def square_root(x: tf.Tensor):
    """Square root, whose gradient at 0 is 0."""
    root = tf.sqrt(x)
    return root, lambda upstream: tf.math.divide_no_nan(upstream / 2, root)


def unit_rows(z: tf.Tensor) -> tf.Tensor:
    """The rows of `z` `(batch, dim)`, each divided by its Euclidean norm.

    Does not depend on the scale of a row, be it 1e-18 or 1e18. A row of zeros
    stays zero.
    """
    largest = tf.stop_gradient(tf.reduce_max(tf.abs(z), axis=1, keepdims=True))
    largest = tf.where(
        largest <= SMALLEST_ENTRY, tf.zeros_like(largest), largest
    )
    z = tf.math.divide_no_nan(z, largest)
    # Not below 1, unless the row is zero.
    square = tf.reduce_sum(tf.square(z), axis=1, keepdims=True)
    return z * tf.math.rsqrt(tf.maximum(square, 1))


def cosine_similarity_within(z: tf.Tensor) -> tf.Tensor:
    """Cosines `(batch, batch)` among the rows of `z`, in [-1, 1].

    Does not depend on the scale of a row, be it 1e-18 or 1e18. A row of zeros
    has similarity 0 to every row.
    """
    unit = unit_rows(z)
    similarity = tf.matmul(unit, unit, transpose_b=True)
    return tf.clip_by_value(similarity, -1, 1)


WITHIN = {
    "squared_l2": squared_l2_within,
    "l2": lambda z: square_root(squared_l2_within(z)),
    "cosine": lambda z: 1 - cosine_similarity_within(z),
}
