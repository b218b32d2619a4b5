"""Means of the probability that two rows match, over pairs of their samples."""

import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from embeddings_tf import compat
from embeddings_tf.ops.distances import RESOLUTION
from embeddings_tf.ops.distances import middle_row
from embeddings_tf.ops.sum_over_pairs import BLOCK_SIZE

# The number of pairs of samples fits in int32.
LARGEST_NUM_SAMPLES = 46_340


def log_mean_sigmoid(first, second, scale, offset, sign) -> tf.Tensor:
    """Log of the mean probability of an outcome, over pairs of samples.

    The outcome of rows i and j is a match where `sign[i, j]` is 1, and no match
    where it is -1. The probability of two samples is sigmoid(sign * logit) with
    the logit `offset - scale * ||z_i - z_j||`; the mean is over all pairs of a
    sample of i and a sample of j. Samples closer than 1e-7 of their distance
    from the `middle_row` have the distance 0, with gradient 0.

    Loops over pairs of samples, and once more for the gradient. The pairs of
    one set are computed in blocks. Memory is a few times `n * m` numbers, or a
    block of `BLOCK_SIZE` numbers if larger, and a few times the samples.

    Args:
        first: `(num_samples, n, dim)`, at most `LARGEST_NUM_SAMPLES`.
        second: `(num_samples, m, dim)`; None: `first` again. Then `sign` is
            symmetric, `num_samples` is static, and each pair of different
            samples is computed once.
        scale, offset: Scalars.
        sign: `(n, m)`.

    Returns:
        `(n, m)`.
    """
    return _average(_LogOfMean, first, second, scale, offset, sign)


def mean_log_sigmoid(first, second, scale, offset, sign) -> tf.Tensor:
    """Mean log-probability of an outcome, over pairs of samples.

    Arguments, result and memory are as in `log_mean_sigmoid`.
    """
    return _average(_MeanOfLogs, first, second, scale, offset, sign)


def _average(kind, first, second, scale, offset, sign) -> tf.Tensor:
    """The average of `kind`, `_LogOfMean` or `_MeanOfLogs`."""
    # Differences of the largest float32 are infinite in float32.
    exact = [tf.cast(x, tf.float64) for x in (first, second) if x is not None]
    middle = _middle(exact)
    centred = [side - middle for side in exact]
    num_samples = first.shape[0] or tf.shape(first)[0]
    num_pairs = tf.square(tf.cast(num_samples, first.dtype))
    pairs_of_samples = _kinds_of_pairs(num_samples, second is None)

    @tf.custom_gradient
    def average(scale, offset, *sides):
        left, right = _columns(sides[0])[0], _columns(sides[-1])[1]
        logits = _Logits(left, right, scale, offset, sign)
        # A pair of samples has two matrices of columns, and their product.
        sizes = tf.size(left[0]), tf.size(right[0]), tf.size(sign)

        def add(i, j, *sums):
            return kind.add(logits.of_samples(i, j)[1], *sums)

        sums = kind.start(tf.zeros_like(sign))
        for pairs in pairs_of_samples:
            sums = pairs.loop(add, sums, sizes)
            if pairs.are_mirrored:
                sums = kind.add_mirror_image(*sums)

        def gradient(upstream):
            weight = sign * upstream / kind.divisor(num_pairs, *sums)
            found = [tf.zeros_like(x) for x in (scale, offset, *sides)]
            for pairs in pairs_of_samples:
                of_both = weight
                if pairs.are_mirrored:
                    of_both += tf.transpose(weight)
                slope = functools.partial(kind.slope, of_both, *sums)
                step = functools.partial(logits.add_gradient, slope)
                found = pairs.loop(step, found, sizes)
            return found

        return kind.result(num_pairs, *sums), gradient

    return average(scale, offset, *centred)


class _LogOfMean:
    """Sums `sigmoid(logit)` as `exp(most) * added`.

    Relative to the largest, probabilities do not under- or overflow.
    """

    @staticmethod
    def start(zeros) -> tuple:
        return zeros - np.inf, zeros

    @staticmethod
    def add(logit, most, added) -> tuple:
        larger = tf.minimum(tf.reduce_max(logit, axis=0), 0)
        larger = tf.maximum(most, larger)
        here = tf.reduce_sum(_relative_sigmoid(logit, larger), axis=0)
        return larger, added * tf.exp(most - larger) + here

    @staticmethod
    def add_mirror_image(most, added) -> tuple:
        larger = tf.maximum(most, tf.transpose(most))
        relative = added * tf.exp(most - larger)
        return larger, relative + tf.transpose(relative)

    @staticmethod
    def result(num_pairs, most, added) -> tf.Tensor:
        return most + tf.math.log(added) - tf.math.log(num_pairs)

    @staticmethod
    def divisor(num_pairs, most, added) -> tf.Tensor:
        return added

    @staticmethod
    def slope(weight, most, added, logit) -> tf.Tensor:
        """Derivative in a logit; `weight` is divided by the `divisor`."""
        slope = weight * tf.sigmoid(-logit)
        return slope * _relative_sigmoid(logit, most)


class _MeanOfLogs:
    """Sums `log(sigmoid(logit))`; it has the methods of `_LogOfMean`."""

    @staticmethod
    def start(zeros) -> tuple:
        return (zeros,)

    @staticmethod
    def add(logit, total) -> tuple:
        return (total + tf.reduce_sum(tf.math.log_sigmoid(logit), axis=0),)

    @staticmethod
    def add_mirror_image(total) -> tuple:
        return (total + tf.transpose(total),)

    @staticmethod
    def result(num_pairs, total) -> tf.Tensor:
        return total / num_pairs

    @staticmethod
    def divisor(num_pairs, total) -> tf.Tensor:
        return num_pairs

    @staticmethod
    def slope(weight, total, logit) -> tf.Tensor:
        return weight * tf.sigmoid(-logit)


class _Logits:
    """Logits of pairs of samples, times the sign, and their gradients.

    `left` and `right` are `_columns` of samples.
    """

    def __init__(self, left, right, scale, offset, sign):
        self.left, self.right, self.scale = left, right, scale
        self.of_offset, self.of_scale = sign * offset, sign * scale

    def of_samples(self, i, j) -> tuple[tf.Tensor, tf.Tensor]:
        """Distances and logits of the samples `i` and `j`."""
        # Not left[i], which OpenVINO cannot run in a loop.
        distance = _distances(
            tf.gather(self.left, i),
            tf.gather(self.right, j),
            self.of_scale.dtype,
        )
        return distance, self.of_offset - self.of_scale * distance

    def add_gradient(self, slope, i, j, by_scale, by_offset, *by_sides):
        """Adds the gradients of the pairs; `slope` is of a logit."""
        distance, logit = self.of_samples(i, j)
        by_logit = slope(logit)
        by_square = tf.math.divide_no_nan(-self.scale * by_logit, distance)
        of_a, of_b = _by_samples(
            tf.cast(by_square, tf.float64),
            tf.gather(self.left, i),
            tf.gather(self.right, j),
        )
        first, *second = by_sides
        if second:
            second = [_add_to_samples(second[0], j, of_b)]
        else:
            first = _add_to_samples(first, j, of_b)
        return (
            by_scale - tf.reduce_sum(by_logit * distance),
            by_offset + tf.reduce_sum(by_logit),
            _add_to_samples(first, i, of_a),
            *second,
        )


class _Pairs(NamedTuple):
    """Pairs of samples.

    of_numbers: Function from numbers below `total` to both samples of pairs.
    total: Number of pairs.
    are_mirrored: Whether (j, i) belongs to each pair (i, j).
    in_blocks: Whether a step takes several pairs. Not if the graph may have
        been traced before XLA compiles it: XLA must know the size of a block.
    """

    of_numbers: Callable
    total: int | tf.Tensor
    are_mirrored: bool = False
    in_blocks: bool = True

    def loop(self, step, sums, sizes) -> list:
        """`step(i, j, *sums) -> sums`, for blocks of pairs of samples.

        `sizes` are the sizes of the tensors of a pair.
        """
        # Samples without rows have no pairs.
        count = tf.where(tf.reduce_min(sizes) > 0, self.total, 0)
        block = BLOCK_SIZE // tf.maximum(1, tf.reduce_max(sizes))
        block = tf.maximum(1, block)

        def body(start, *sums):
            end = tf.minimum(start + block, count)
            one = not self.in_blocks or compat.is_traced_for_xla()
            numbers = start[None] if one else tf.range(start, end)
            sums = step(*self.of_numbers(numbers), *sums)
            return start + 1 if one else end, *sums

        return tf.while_loop(
            lambda start, *_: start < count,
            body,
            (tf.constant(0), *sums),
            parallel_iterations=1,
        )[1:]


def _kinds_of_pairs(num_samples, of_one_side: bool) -> list[_Pairs]:
    if not of_one_side:

        def of_numbers(numbers):
            return numbers // num_samples, numbers % num_samples

        total = num_samples * num_samples
        return [_Pairs(of_numbers, total, in_blocks=False)]
    same = _Pairs(lambda numbers: (numbers, numbers), num_samples)
    if num_samples == 1:
        return [same]
    upper = np.stack(np.triu_indices(num_samples, 1)).astype(np.int32)
    different = _Pairs(
        lambda numbers: tf.unstack(tf.gather(upper, numbers, axis=1)),
        upper.shape[1],
        are_mirrored=True,
    )
    return [different, same]


def _middle(sides) -> tf.Tensor:
    """A point amid most rows of one side: differences from it round less.

    With two sides, it is the second side, the supports: no answer may depend
    on other queries.
    """
    dim = sides[-1].shape[-1] or tf.shape(sides[-1])[-1]
    return middle_row(tf.reshape(sides[-1], [-1, dim]))


def _columns(samples) -> tuple[tf.Tensor, tf.Tensor]:
    """Two matrices of each sample, whose product is the squared distances.

    `[-2 z, ||z||^2, 1]` and `[z, 1, ||z||^2]`, float64.
    """
    square = tf.reduce_sum(tf.square(samples), axis=-1, keepdims=True)
    one = tf.ones_like(square)
    left = tf.concat([-2 * samples, square, one], axis=-1)
    return left, tf.concat([samples, one, square], axis=-1)


def _distances(left, right, dtype) -> tf.Tensor:
    """Distances of rows of `_columns`, exactly 0 for equal rows."""
    square = tf.matmul(left, right, transpose_b=True)
    coincide = square <= RESOLUTION * right[..., None, :, -1]
    square = tf.where(coincide, tf.zeros_like(square), square)
    # Limited, so that a logit is finite.
    return tf.minimum(tf.cast(tf.sqrt(square), dtype), 1e-6 * dtype.max)


def _by_samples(by_square, left, right) -> tuple[tf.Tensor, tf.Tensor]:
    """Gradients in both sides' rows, given the gradient in half the squares."""
    a, b = left[..., :-2] / -2, right[..., :-2]
    of_a = tf.reduce_sum(by_square, axis=-1)[..., None] * a
    of_b = tf.reduce_sum(by_square, axis=-2)[..., None] * b
    return (
        of_a - tf.matmul(by_square, b),
        of_b - tf.matmul(by_square, a, transpose_a=True),
    )


def _add_to_samples(sums, samples, values) -> tf.Tensor:
    return tf.tensor_scatter_nd_add(sums, samples[:, None], values)


def _relative_sigmoid(x, most) -> tf.Tensor:
    """sigmoid(x) / exp(most)."""
    return 1 / (tf.exp(most - x) + tf.exp(most))
