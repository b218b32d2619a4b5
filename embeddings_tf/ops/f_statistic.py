"""F statistics of all pairs of classes: value and gradient of the loss."""

import functools
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from embeddings_tf import compat
from embeddings_tf.ops import f_distribution

# Bounds of the ratio: sum of squares between two classes / sum within them.
SMALLEST_RATIO, LARGEST_RATIO = 1e-37, 1e37
# Pairs times dimensions in a block: 2 MB per tensor bounds the memory, or 8 MB
# where a graph knows that all pairs fit. Most batches need one block.
BLOCK_SIZE = 2**18
# Twice the number of pairs of classes fits in int32.
LARGEST_NUM_CLASSES = 46_341
TOO_MANY_CLASSES = (
    "The F-statistic loss compares all pairs of classes, of at most "
    f"{LARGEST_NUM_CLASSES} classes in a batch. Feed smaller batches. Received "
    "classes:"
)


class _Batch(NamedTuple):
    """A batch and its classes; float64 except for `z`.

    num_classes, dim: Numbers of classes and of dimensions.
    ids: Class of each row, `(rows,)`.
    z: Rows minus the rounded means of their classes, `(rows, dim)`, with the
        dtype of the embeddings.
    count, mean: Per class, `(classes, 1)` and `(classes, dim)`.
    offset: `mean` minus the rounded mean.
    spread: Per class, `(classes, dim)`, positive: the sum of squares times
        `weight`.
    weight: 1, or the factor that makes `spread` the squared standard error of
        the mean.
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
    """Returns the sum of -ln Phi over pairs of classes and its gradient.

    The gradient is computed with the value, so no tensor of pairs times
    dimensions is stored for a backward pass. Steps: the mean and spread of each
    class; the tests of all pairs of classes, block by block, with the gradient
    in mean and spread; then the gradient in the rows.

    Args:
        labels: Integers `(rows,)`.
        embeddings: `(rows, dim)`, float32 or float64.
        num_dims, grand_mean, direction, equal_variance: As in
            `losses.f_statistic_loss`.

    Returns:
        The value, a scalar, and its gradient in `embeddings`.
    """
    if embeddings.dtype == tf.float64:
        # Makes coinciding points exact zeros, whose float32 sums are exact.
        embeddings -= embeddings[:1]
    batch = statistics(labels, embeddings, equal_variance)

    test = functools.partial(
        compare_classes,
        num_dims=num_dims,
        grand_mean=grand_mean,
        direction=direction,
        equal_variance=equal_variance,
    )
    value, gradient = over_all_pairs(batch, test)
    # top_k ignores NaN.
    is_finite = tf.math.is_finite(tf.reduce_sum(batch.spread))
    # XLA drops the assertion.
    is_finite &= batch.num_classes <= LARGEST_NUM_CLASSES
    value = tf.where(is_finite, value, tf.constant(np.nan, tf.float64))
    return (
        tf.cast(value, embeddings.dtype),
        _gradient_in_rows(gradient, batch, direction),
    )


def statistics(labels, embeddings, equal_variance) -> _Batch:
    """Computes means and spreads of the classes in a batch."""
    dtype = embeddings.dtype
    num_rows = tf.size(labels)
    if compat.is_traced_for_xla():
        # With two rows, XLA bounds the pairs by one and fails to compile.
        # Repeating a label raises the bound and adds no class.
        labels = tf.concat([labels, labels[:1], labels[:1]], axis=0)
    present, ids = tf.unique(labels)
    ids, num_classes = ids[:num_rows], _checked_num_classes(tf.size(present))

    def over_classes(values):
        return tf.math.unsorted_segment_sum(
            tf.cast(values, tf.float64), ids, num_classes
        )

    count = over_classes(tf.ones_like(embeddings[:, :1]))
    mean = over_classes(embeddings) / count
    # A class's points minus its rounded mean: a difference of float32 is as
    # accurate as float32 can be, and exact for close points.
    centre = tf.cast(mean, dtype)
    z = embeddings - _of_rows(centre, ids, dtype)
    offset = mean - tf.cast(centre, tf.float64)
    spread = over_classes(tf.square(tf.cast(z, tf.float64)))
    spread -= count * tf.square(offset)
    # Negative if differences below 1e-38 are lost.
    spread = tf.maximum(spread, 0)
    weight = None
    if not equal_variance:
        # Welch's test uses the squared standard error of the mean.
        weight = tf.math.divide_no_nan(
            tf.constant(1, tf.float64), count * (count - 1)
        )
        spread *= weight
    spread += 1e-280  # avoids 0 / 0
    dim = embeddings.shape[-1] or tf.shape(embeddings)[-1]
    return _Batch(num_classes, dim, ids, z, count, mean, offset, spread, weight)


def _checked_num_classes(num_classes):
    """Raises ValueError, or fails in a graph, if numbers of pairs overflow."""
    is_valid = num_classes <= LARGEST_NUM_CLASSES
    if tf.executing_eagerly():
        if not is_valid:
            raise ValueError(f"{TOO_MANY_CLASSES} {int(num_classes)}.")
        return num_classes
    if compat.is_traced_for_xla():
        return num_classes
    check = tf.debugging.Assert(is_valid, [TOO_MANY_CLASSES, num_classes])
    with tf.control_dependencies([check]):
        return tf.identity(num_classes)


def _of_rows(class_values, ids, dtype):
    """Returns the value of the class of each row."""
    # Faster than gather, which uses few of many threads.
    return tf.gather_nd(tf.cast(class_values, dtype), ids[:, None])


def over_all_pairs(batch: _Batch, test):
    """Returns value and gradient over all pairs of classes, in blocks.

    The gradient is in mean and spread, `(2, classes, dim)`, flat.
    """
    dim, num_classes = batch.dim, batch.num_classes
    # XLA can bound the result of truncatediv, unlike other divisions.
    num_pairs = tf.truncatediv(num_classes * (num_classes - 1), 2)
    in_block = num_pairs
    num_rows = batch.z.shape[0]
    is_one_block = (
        num_rows is not None
        and isinstance(dim, int)
        # Rows may be classes of their own. With two rows in each class, there
        # are a quarter of these pairs, at most one block.
        and num_rows * (num_rows - 1) // 2 * dim <= 4 * BLOCK_SIZE
    )
    if not is_one_block:
        in_block = tf.minimum(num_pairs, tf.maximum(1, BLOCK_SIZE // dim))
    block = tf.range(in_block)
    block_size = tf.size(block)

    def of_block(start):
        index = start + block
        pair = tf.stack(_classes_of_pair(tf.minimum(index, num_pairs - 1)))
        is_pair = (index < num_pairs)[:, None]  # pads the last block
        return _over_block(batch, pair, is_pair, test)

    def add_block(start, value, gradient):
        added_value, added_gradient = of_block(start)
        return (
            start + block_size,
            value + added_value,
            gradient + added_gradient,
        )

    # One block is the usual case; a loop of one block is slower.
    first = of_block(0)
    if is_one_block:  # the graph is made and compiled in half the time
        return [*first]
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
    """Returns value and gradient, as above, over some pairs of classes."""
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
    # From the log of the ratio to its numerator and its denominator. The
    # denominator, squared difference over ratio, may be infinite.
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
    """Backpropagates from means and spreads of classes to their rows."""
    dtype = batch.z.dtype
    in_mean, in_spread = tf.unstack(
        tf.reshape(gradient, [2, batch.num_classes, batch.dim])
    )
    if batch.weight is not None:
        in_spread *= batch.weight
    in_square = 2 * in_spread
    in_point = in_mean / batch.count - in_square * batch.offset
    # The root is applied twice, because the square of embeddings below 1e-19
    # leaves float32. Below 1e-35 this bound replaces the gradient.
    sign = 1 if direction == "separate" else -1
    bound = tf.constant(1e-3 * dtype.max, tf.float64)
    root = tf.minimum(tf.sqrt(sign * in_square), bound)
    root = _of_rows(root, batch.ids, dtype)
    gradient = sign * batch.z * root * root
    in_point = tf.clip_by_value(in_point, -bound, bound)
    return gradient + _of_rows(in_point, batch.ids, dtype)


def _classes_of_pair(index):
    """Returns `first < second` of the pairs (0, 1), (0, 2), (1, 2), ..."""
    root = tf.sqrt(8 * tf.cast(index, tf.float64) + 1)
    second = tf.cast((root + 1) / 2, tf.int32)
    return index - tf.truncatediv(second * (second - 1), 2), second


def compare_classes(
    ratio, is_pair, a, b, num_dims, grand_mean, direction, equal_variance
):
    """Tests of equal means between the classes `a` and the classes `b`.

    Takes `ratio`, the squared differences of the means over the sums of the
    spreads, and `is_pair`, false for rows to ignore. Returns, for the
    `num_dims` dimensions of largest Phi:

        value: `(pairs, num_dims)`, -ln Phi or -ln (1 - Phi).
        slope: Its derivative in the log of the ratio.
        ratio: The ratio in these dimensions.
        dims: The indices of these dimensions.

    `value` and `slope` are 0 if there is nothing to test.
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
        # Phi grows with the ratio, so the ratio can select dimensions.
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
    # A product keeps NaN visible.
    factor = -tf.cast(is_testable & is_pair, tf.float64)
    return factor * log_probability, factor * slope, ratio, dims


def _clip(ratio):
    return tf.clip_by_value(ratio, SMALLEST_RATIO, LARGEST_RATIO)
