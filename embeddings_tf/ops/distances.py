"""Distances and similarities between rows of embeddings."""

import math

import tensorflow as tf

from embeddings_tf.ops.numerics import finite_or_nan

# Sums of a few squared distances fit in float32.
LARGEST_SQUARE = 1e38
# Relative to the squared norms: about one digit of float32.
RESOLUTION = 2e-14
# The same where products are float32: about their rounding errors.
SINGLE_RESOLUTION = 2e-6
# Rows whose entries are all smaller count as zero.
SMALLEST_ENTRY = 1e-30
# Differences of pairs of rows that are in memory at once.
_LARGEST_PIECE = 2**24
# Rows whose median is the middle of a batch: few, so that it costs no time.
_ROWS_OF_MIDDLE = 31


def squared_l2(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Squared Euclidean distances `(len(a), len(b))`, never negative.

    Differences are taken before squaring. This is exact for close points far
    from the origin, and needs `len(a) * len(b) * dim` floats of memory. The
    value is clipped at a millionth of the largest float, so sums of it are
    finite; the gradient is not clipped. Rows that are not finite give NaN.
    """
    a, b = finite_or_nan(a), finite_or_nan(b)
    square = tf.math.squared_difference(a[:, None], b[None])
    return _bounded(tf.reduce_sum(square, -1))


def squared_l2_in_pieces(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """As `squared_l2`, with less memory where TensorFlow runs eagerly."""
    if not tf.executing_eagerly():
        return squared_l2(a, b)
    rows = max(1, _LARGEST_PIECE // max(1, math.prod(b.shape)))
    if len(a) <= rows:
        return squared_l2(a, b)
    pieces = [
        squared_l2(a[first : first + rows], b)
        for first in range(0, len(a), rows)
    ]
    return tf.concat(pieces, axis=0)


@tf.custom_gradient
def _bounded(square: tf.Tensor):
    """Clips at a millionth of the largest float, with an unclipped gradient."""
    bounded = tf.minimum(square, 1e-6 * square.dtype.max)
    return bounded, lambda upstream: upstream


def squared_l2_between(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Squared Euclidean distances `(len(a), len(b))`, never negative.

    As `squared_l2`, but from inner products, which take `len(a) * len(b)`
    floats of memory for any dimension. The products are float64, of rows
    around the `middle_row` of `b`: points closer than 1e-7 of their distance
    from it lose their digits. `b` may be float64 for the digits of means. The
    result has the type of `a`. Rows that are not finite give NaN.
    """

    @tf.custom_gradient
    def distances(a, b):
        exact_b = tf.cast(finite_or_nan(b), tf.float64)
        centre = middle_row(exact_b)
        exact_a = tf.cast(finite_or_nan(a), tf.float64) - centre
        exact_b -= centre
        norms_a = tf.reduce_sum(tf.square(exact_a), axis=1, keepdims=True)
        norms_b = tf.reduce_sum(tf.square(exact_b), axis=1, keepdims=True)
        # The norms are two more columns: one product instead of three sums.
        square = tf.matmul(
            tf.concat([-2 * exact_a, norms_a, tf.ones_like(norms_a)], axis=1),
            tf.concat([exact_b, tf.ones_like(norms_b), norms_b], axis=1),
            transpose_b=True,
        )
        # NaN stays NaN.
        square = tf.clip_by_value(
            tf.cast(square, a.dtype), 0.0, 1e-6 * a.dtype.max
        )

        def gradient(upstream):
            # Twice the sum of g_ij (a_i - b_j). The type of the rows suffices
            # here: the error is the rounding error of the centred rows.
            centred_a = 2 * tf.cast(exact_a, a.dtype)
            centred_b = 2 * tf.cast(exact_b, a.dtype)
            of_a = tf.reduce_sum(upstream, axis=1)[:, None] * centred_a
            of_b = tf.reduce_sum(upstream, axis=0)[:, None] * centred_b
            of_b -= tf.matmul(upstream, centred_a, transpose_a=True)
            of_a -= tf.matmul(upstream, centred_b)
            return of_a, tf.cast(of_b, b.dtype)

        return square, gradient

    return distances(a, b)


def squared_l2_within(z: tf.Tensor) -> tf.Tensor:
    """Squared Euclidean distances `(batch, batch)` among the rows of `z`.

    Takes `batch * batch` floats of memory for any dimension. The inner products
    are float64, because close points would lose their digits in float32. Points
    closer than 1e-7 of their norms have distance exactly 0. The value is
    clipped at 1e38; the gradient is not clipped. Rows that are not finite give
    NaN.
    """

    @tf.custom_gradient
    def distances(z):
        exact = tf.cast(finite_or_nan(z), tf.float64)
        products = tf.matmul(exact, exact, transpose_b=True)
        norms = tf.linalg.diag_part(products)
        square = square_of_products(products, norms, norms, z.dtype)

        def gradient(upstream):
            # The sum over j of 2 (g_ij + g_ji) (z_i - z_j). float32 suffices
            # in the product: the error is the rounding error of centred z.
            weight = 2 * (upstream + tf.transpose(upstream))
            centred = z - middle_row(z)
            # Large terms cancel before they overflow.
            total = tf.reduce_sum(weight, axis=1, keepdims=True)
            total = tf.cast(total, tf.float64) * tf.cast(centred, tf.float64)
            total -= tf.cast(tf.matmul(weight, centred), tf.float64)
            return tf.cast(total, z.dtype)

        return square, gradient

    return distances(z)


def middle_row(z: tf.Tensor) -> tf.Tensor:
    """A point `(dim,)` amid most rows of `z` `(batch, dim)`, as a constant.

    Rows minus this point have the same distances, with smaller rounding
    errors. It is the mean of at most 31 rows, limited to ten times their
    median deviation from the median, because one huge row moves the mean away
    from the other rows. Numbers that are not finite count as 0, and no rows
    have the middle 0.
    """
    num_rows = z.shape[0] or tf.shape(z)[0]
    count = tf.minimum(num_rows, _ROWS_OF_MIDDLE)
    rows = tf.range(count) * num_rows // tf.maximum(count, 1)
    some = tf.gather(tf.stop_gradient(z), rows)
    # Differences do not overflow.
    limit = 1e-6 * z.dtype.max
    some = tf.where(tf.math.is_finite(some), some, tf.zeros_like(some))
    some = tf.clip_by_value(some, -limit, limit)
    median = _median(some)
    usual = 10 * _median(tf.abs(some - median))
    near = tf.clip_by_value(some, median - usual, median + usual)
    return tf.math.divide_no_nan(
        tf.reduce_sum(near, axis=0), tf.cast(count, z.dtype)
    )


def _median(rows: tf.Tensor) -> tf.Tensor:
    """The (upper) median of each column, 0 without rows."""
    half = tf.shape(rows)[0] // 2
    return tf.reduce_sum(tf.sort(rows, axis=0)[half : half + 1], axis=0)


def square_of_products(
    products: tf.Tensor, norms_a: tf.Tensor, norms_b: tf.Tensor, dtype
) -> tf.Tensor:
    """Squared distances `(a, b)` in `dtype`, as in `squared_l2_within`.

    Args:
        products: Inner products `(a, b)`, float64.
        norms_a, norms_b: The squared norms of the rows, float64.
        dtype: Type of the result.
    """
    square = norms_a[:, None] + norms_b - 2 * products
    coincide = square <= RESOLUTION * norms_b
    square = tf.minimum(tf.cast(square, dtype), LARGEST_SQUARE)
    return tf.where(coincide, tf.zeros_like(square), square)


@tf.custom_gradient
def square_root(x: tf.Tensor):
    """Square root with gradient 0 at 0."""
    root = tf.sqrt(x)
    return root, lambda upstream: tf.math.divide_no_nan(upstream / 2, root)


def unit_rows(z: tf.Tensor) -> tf.Tensor:
    """Divides each row of `z` `(batch, dim)` by its Euclidean norm.

    Works for rows of any scale, from 1e-18 to 1e18. A row of zeros stays
    zero. A row with NaN becomes NaN.
    """
    largest = tf.stop_gradient(tf.reduce_max(tf.abs(z), axis=1, keepdims=True))
    largest = tf.where(
        largest <= SMALLEST_ENTRY, tf.zeros_like(largest), largest
    )
    # The maximum of XLA leaves NaN out.
    has_nan = tf.reduce_any(tf.math.is_nan(z), axis=1, keepdims=True)
    largest = tf.where(has_nan, tf.constant(math.nan, z.dtype), largest)
    z = tf.math.divide_no_nan(z, largest)
    # At least 1, unless the row is zero.
    square = tf.reduce_sum(tf.square(z), axis=1, keepdims=True)
    return z * tf.math.rsqrt(tf.maximum(square, 1))


def cosine_similarity_within(z: tf.Tensor) -> tf.Tensor:
    """Cosines `(batch, batch)` among the rows of `z`, in [-1, 1].

    Works for rows of any scale, from 1e-18 to 1e18. A row of zeros has
    similarity 0 to every row.
    """
    unit = unit_rows(z)
    return cosines_of_units(unit, unit)


def cosines_of_units(a: tf.Tensor, b: tf.Tensor) -> tf.Tensor:
    """Cosines `(len(a), len(b))`, in [-1, 1], of rows of `unit_rows`."""
    return tf.clip_by_value(tf.matmul(a, b, transpose_b=True), -1, 1)


WITHIN = {
    "squared_l2": squared_l2_within,
    "l2": lambda z: square_root(squared_l2_within(z)),
    "cosine": lambda z: 1 - cosine_similarity_within(z),
}
