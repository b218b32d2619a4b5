"""The F statistics of all pairs of classes, their value and its gradient."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from embeddings_tf.ops import f_distribution

# Bounds of the sum of squares between two classes over that within them.
SMALLEST_RATIO, LARGEST_RATIO = 1e-37, 1e37
# Pairs times dimensions in a block: 2 MB per tensor bounds the memory. Most
# batches need one block.
BLOCK_SIZE = 2**18


class _Batch(NamedTuple):
    """A batch and its classes; float64 but for `z`.

    num_classes, dim: Numbers of classes and of dimensions.
    ids: Class of each row, `(rows,)`.
    z: Rows about the rounded means of their classes, `(rows, dim)`, in the
        dtype of the embeddings.
    count, mean: Of each class, `(classes, 1)` and `(classes, dim)`.
    offset: `mean` minus what it is rounded to.
    spread: Of each class, `(classes, dim)`, positive: its sum of squares times
        `weight`.
    weight: 1, or what makes `spread` the squared standard error of the mean.
    """

    num_classes: tf.Tensor
    dim: int | tf.Tensor
    ids: tf.Tensor
    z: tf.Tensor
    count: tf.Tensor
    mean: tf.Tensor
    offset: tf.Tensor
    spread: tf.Tensor
    weight: tf.Tensor | None


class _Class(NamedTuple):
    """One class of each pair, float64.

    count: `(pairs, 1)`.
    spread: `(pairs, dim)`, positive; the spreads of two classes add up to
        the denominator of their ratio.
    """

    count: tf.Tensor
    spread: tf.Tensor


def value_and_gradient(
    labels, embeddings, num_dims, grand_mean, direction, equal_variance
):
    """The sum of -ln Phi over pairs of classes and its gradient.

    The gradient is computed with the value, so that no tensor of pairs times
    dimensions is kept for a backward pass. Steps: the mean and spread of each
    class; the tests of all pairs of classes, block by block, with the gradient
    in mean and spread; from there the gradient in the rows.

    Args:
        labels: Integers `(rows,)`.
        embeddings: `(rows, dim)`, float32 or float64.
        num_dims, grand_mean, direction, equal_variance: As in
            `losses.f_statistic_loss`.

    Returns:
        The value, a scalar, and its gradient in `embeddings`.
    """
    if embeddings.dtype == tf.float64:
        # Makes points that coincide exact zeros; sums of float32 are exact.
        embeddings -= embeddings[:1]
    batch = _statistics(labels, embeddings, equal_variance)

    def test(ratio, is_pair, a, b):
        return _test(
            ratio,
            is_pair,
            a,
            b,
            num_dims,
            grand_mean,
            direction,
            equal_variance,
        )

    value, gradient = _over_all_pairs(batch, test)
    # top_k ignores NaN.
    is_finite = tf.math.is_finite(tf.reduce_sum(batch.spread))
    value = tf.where(is_finite, value, tf.constant(np.nan, tf.float64))
    return (
        tf.cast(value, embeddings.dtype),
        _gradient_in_rows(gradient, batch, direction),
    )


def _statistics(labels, embeddings, equal_variance) -> _Batch:
    """Means and spreads of the classes that occur in a batch."""
    dtype = embeddings.dtype
    present, ids = tf.unique(labels)
    num_classes = tf.size(present)

    def over_classes(values):
        return tf.math.unsorted_segment_sum(
            tf.cast(values, tf.float64), ids, num_classes
        )

    count = over_classes(tf.ones_like(embeddings[:, :1]))
    mean = over_classes(embeddings) / count
    # A class's points about its rounded mean: a difference of float32 is as
    # accurate as float32 can be, and exact where points are close.
    centre = tf.cast(mean, dtype)
    z = embeddings - _of_rows(centre, ids, dtype)
    offset = mean - tf.cast(centre, tf.float64)
    spread = over_classes(tf.square(tf.cast(z, tf.float64)))
    spread -= count * tf.square(offset)
    # Below 0 if differences of less than 1e-38 are lost.
    spread = tf.maximum(spread, 0)
    weight = None
    if not equal_variance:
        # Welch's test uses the squared standard error of the mean.
        weight = tf.math.divide_no_nan(
            tf.constant(1, tf.float64), count * (count - 1)
        )
        spread *= weight
    spread += 1e-280  # never 0 / 0
    dim = embeddings.shape[-1] or tf.shape(embeddings)[-1]
    return _Batch(num_classes, dim, ids, z, count, mean, offset, spread, weight)


def _of_rows(class_values, ids, dtype):
    """The values of the class of each row."""
    # gather takes longer; it divides little among many threads.
    return tf.gather_nd(tf.cast(class_values, dtype), ids[:, None])


def _over_all_pairs(batch: _Batch, test):
    """The value of all pairs of classes, block by block, and its gradient.

    Returns the gradient in mean and in spread, `(2, classes, dim)`, flat.
    """
    dim, num_classes = batch.dim, batch.num_classes
    # truncatediv: of the divisions, the one whose result XLA can bound.
    num_pairs = tf.truncatediv(num_classes * (num_classes - 1), 2)
    block = tf.range(tf.minimum(num_pairs, tf.maximum(1, BLOCK_SIZE // dim)))
    block_size = tf.size(block)

    def of_block(start):
        index = start + block
        pair = tf.stack(_classes_of_pair(tf.minimum(index, num_pairs - 1)))
        is_pair = (index < num_pairs)[:, None]  # the last block may go on
        return _over_block(batch, pair, is_pair, test)

    def add_block(start, value, gradient):
        added_value, added_gradient = of_block(start)
        return (
            start + block_size,
            value + added_value,
            gradient + added_gradient,
        )

    # One block is the usual case, and a loop of one takes longer than one.
    first = of_block(0)
    return tf.cond(
        block_size < num_pairs,
        lambda: tf.while_loop(
            lambda start, *_: start < num_pairs,
            add_block,
            [block_size, *first],
            parallel_iterations=1,
        )[1:],
        lambda: [*first],
    )


def _over_block(batch: _Batch, pair, is_pair, test):
    """The value of some pairs of classes, and its gradient as above."""
    count_a, count_b, mean_a, mean_b, spread_a, spread_b = (
        one_of_two
        for values in (batch.count, batch.mean, batch.spread)
        for one_of_two in tf.unstack(tf.gather(values, pair))
    )
    difference = mean_a - mean_b
    value, slope, ratio, dims = test(
        tf.square(difference) / (spread_a + spread_b),
        is_pair,
        _Class(count_a, spread_a),
        _Class(count_b, spread_b),
    )
    # From the log of the ratio to its numerator and its denominator, which
    # is the squared difference over the ratio. That may be infinite.
    difference = tf.gather(difference, dims, batch_dims=1)
    in_mean = tf.math.divide_no_nan(2 * slope, difference)
    in_spread = tf.math.divide_no_nan(
        tf.math.multiply_no_nan(ratio, in_mean), -2 * difference
    )
    dim, num_classes = batch.dim, batch.num_classes
    gradient = tf.math.unsorted_segment_sum(
        tf.stack([in_mean, -in_mean, in_spread, in_spread]),
        tf.concat([pair, pair + num_classes], 0)[..., None] * dim + dims,
        2 * num_classes * dim,
    )
    return tf.reduce_sum(value), gradient


def _gradient_in_rows(gradient, batch: _Batch, direction):
    """From the gradient in the means and spreads of classes to their rows."""
    dtype = batch.z.dtype
    in_mean, in_spread = tf.unstack(
        tf.reshape(gradient, [2, batch.num_classes, batch.dim])
    )
    if batch.weight is not None:
        in_spread *= batch.weight
    in_square = 2 * in_spread
    in_point = in_mean / batch.count - in_square * batch.offset
    # Its root twice: embeddings below 1e-19 would take the square out of
    # float32. Below 1e-35 what is left of a gradient is this bound.
    sign = 1 if direction == "separate" else -1
    bound = tf.constant(1e-3 * dtype.max, tf.float64)
    root = tf.minimum(tf.sqrt(sign * in_square), bound)
    root = _of_rows(root, batch.ids, dtype)
    gradient = sign * batch.z * root * root
    in_point = tf.clip_by_value(in_point, -bound, bound)
    return gradient + _of_rows(in_point, batch.ids, dtype)


def _classes_of_pair(index):
    """`first < second` of the pairs (0, 1), (0, 2), (1, 2), (0, 3), ..."""
    root = tf.sqrt(8 * tf.cast(index, tf.float64) + 1)
    second = tf.cast((root + 1) / 2, tf.int32)
    return index - tf.truncatediv(second * (second - 1), 2), second


def _test(
    ratio, is_pair, a, b, num_dims, grand_mean, direction, equal_variance
):
    """Tests of equal means, of the classes `a` against the classes `b`.

    Takes `ratio`, the squared differences of the means over the sums of the
    spreads, and `is_pair`, false for rows to ignore. Returns, for the
    `num_dims` dimensions of largest Phi:

        value: `(pairs, num_dims)`, -ln Phi or -ln (1 - Phi).
        slope: Its derivative in the log of the ratio.
        ratio: The ratio, of those taken.
        dims: Which dimensions.

    The first two are 0 where there is nothing to test.
    """
    if equal_variance:
        total = a.count + b.count
        is_testable = total > 2
        freedom = tf.maximum(total - 2, 1)
        scale = (
            total / 4
            if grand_mean == "class_means"
            else a.count * b.count / total
        )
        # Phi grows with the ratio, so that the ratio can choose.
        ratio, dims = tf.math.top_k(ratio, num_dims, sorted=False)
    else:
        is_testable = (a.count > 1) & (b.count > 1)
        freedom = f_distribution.welch_freedom(
            a.spread,
            b.spread,
            tf.maximum(a.count - 1, 1),
            tf.maximum(b.count - 1, 1),
        )
        clipped = _clip(ratio / freedom)
        log_odds = f_distribution.log_cdf(clipped, freedom)
        log_odds -= f_distribution.log_sf(clipped, freedom)
        _, dims = tf.math.top_k(log_odds, num_dims, sorted=False)
        ratio = tf.gather(ratio, dims, batch_dims=1)
        freedom = tf.gather(freedom, dims, batch_dims=1)
        scale = 1 / freedom
    scaled = scale * ratio
    clipped = _clip(scaled)
    if direction == "separate":
        log_probability, slope = f_distribution.log_cdf_and_slope(
            clipped, freedom
        )
    else:
        log_probability = f_distribution.log_sf(clipped, freedom)
        log_density = f_distribution.log_density(clipped, freedom)
        slope = -tf.exp(log_density - log_probability)
    slope = tf.where(scaled == clipped, slope, tf.zeros([], tf.float64))
    # A product, or what is not a number would be hidden.
    factor = -tf.cast(is_testable & is_pair, tf.float64)
    return factor * log_probability, factor * slope, ratio, dims


def _clip(ratio):
    return tf.clip_by_value(ratio, SMALLEST_RATIO, LARGEST_RATIO)
