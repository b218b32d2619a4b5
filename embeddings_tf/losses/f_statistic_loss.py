"""The F-statistic loss: classes apart in a few dimensions, whichever."""

from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.losses.embedding_loss import EmbeddingLoss
from embeddings_tf.ops import f_distribution
from embeddings_tf.ops import pairs
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.batch_needs import PAIRS
from embeddings_tf.ops.batch_needs import BatchNeeds

GRAND_MEANS = ("class_means", "instances")
DIRECTIONS = ("separate", "merge")

# Bounds of the sum of squares between two classes over that within them.
SMALLEST_RATIO, LARGEST_RATIO = 1e-37, 1e37

# Pairs of classes are taken in blocks of about so many pairs times dimensions,
# 2 MB a tensor: it bounds the memory, and one block is the usual case.
BLOCK_SIZE = 2**18


def f_statistic_loss(
    y_true,
    y_pred,
    num_dims: int = 2,
    grand_mean: str = "class_means",
    direction: str = "separate",
    *,
    equal_variance: bool = True,
) -> tf.Tensor:
    """Minus the log-probability that classes differ, over pairs of classes.

    The function behind `FStatisticLoss`, which documents it.

    Args:
        y_true: Class ids `(batch,)` or `(batch, 1)`.
        y_pred: Embeddings `(batch, dim)`.
        num_dims, grand_mean, direction, equal_variance: As in
            `FStatisticLoss`.

    Returns:
        `(batch,)`, the value of the global batch in every entry.

    Example:

    >>> z = np.array([[0], [1], [2], [1], [1], [3], [4], [5], [4], [4]])
    >>> labels = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    >>> value = embeddings_tf.losses.f_statistic_loss(labels, z / 1.0, 1)[0]
    >>> print(f"{value:.4e}")
    1.5143e-04
    """
    num_dims = positive_integer("num_dims", num_dims)
    one_of("grand_mean", grand_mean, GRAND_MEANS)
    one_of("direction", direction, DIRECTIONS)

    # A pair's part of the gradient is at hand as soon as its part of the
    # value is. Taken there and then, nothing about a pair has to be kept; and
    # it is that of the log-probability in the log of the ratio, while that of
    # betainc is infinite where means coincide and 0/0 where a merge starts.
    @tf.custom_gradient
    def value(labels, embeddings):
        dim = embeddings.shape[-1]
        if dim is not None and num_dims > dim:
            raise ValueError(
                "`num_dims` must not exceed the dimension of the embeddings; "
                f"received num_dims={num_dims} and embeddings of dimension "
                f"{dim}. Lower it, or widen the encoder's last layer."
            )
        value, gradient = _value_and_gradient(
            labels,
            tf.stop_gradient(embeddings),  # or an eager tape keeps it all
            num_dims,
            grand_mean,
            direction,
            equal_variance,
        )

        def backward(upstream):
            # Adds 0: a second derivative is an error rather than missing.
            nothing = tf.raw_ops.PreventGradient(
                input=embeddings[:0],
                message="f_statistic_loss is differentiable once only.",
            )
            return None, (upstream + tf.reduce_sum(nothing)) * gradient

        return value, backward

    return pairs.set_wise(value, y_true, y_pred)


@keras.saving.register_keras_serializable(package="embeddings_tf")
class FStatisticLoss(EmbeddingLoss):
    """Trains an encoder so that every two classes differ in some dimensions.

    Use it for embeddings whose single dimensions mean something: it pulls two
    classes apart along the `num_dims` dimensions in which they differ most
    already and leaves the others free for what else tells inputs apart. There
    is no margin: it asks whether two classes' means differ, given their
    spread, and is content once that is certain. Batches hold several
    instances of several classes, such as those of
    `embeddings_tf.sampling.class_balanced_batches`, or one factor at a time
    (`factor_batches`).

    Formula, for two classes with `n_1`, `n_2` instances and means `m_1`,
    `m_2` in one dimension, and `n = n_1 + n_2 - 2`:

    ```
    m   = (m_1 + m_2) / 2                                    (grand mean)
    s   = n * sum over i of n_i (m_i - m)^2
            / sum over i, j of (z_ij - m_i)^2
    Phi = P(S < s | equal means) = I_{s / (s + n)}(1/2, n/2)   (Eq. 1)
    v   = -sum over unordered pairs of classes in the batch,
           sum over the num_dims dimensions of largest Phi, of ln Phi
    ```

    with `I` the regularised incomplete beta function. `v` is a sum over the
    pairs, not a mean. With equal means, and either grand mean if counts are
    equal, `Phi` is uniform on (0, 1).

    `s` is free of scale and offset, and so is `v`: embeddings of size 1e-30
    or 1e30 are no problem, half precision is. Counts may differ. Sums are
    taken in float64, and `ln Phi` and `ln (1 - Phi)` in log space, so values
    and gradients are accurate from coinciding to utterly separate means. The
    one limit: `s / n` is clipped to [1e-37, 1e37]. Outside, where means
    coincide exactly or two classes have no spread at all, a pair has no
    gradient in that dimension, and `-ln Phi` is 42.6 - ln(2 / B(1/2, n/2))
    (41.4 for n = 18) or 0.

    One class has value 0. A pair of single instances has no spread to
    compare with (n = 0) and counts 0; a single instance against a class of
    several is a fair test. Dimensions in which all points coincide are
    chosen last. Under `tf.distribute` the batch is the global batch.

    Args:
        num_dims: In how many dimensions two classes have to differ; the
            paper's d, its only parameter.
        grand_mean: `"class_means"`, the published mean of the two class
            means, or `"instances"`, the textbook's mean over all instances,
            for which `s` has an exact F distribution whatever the counts.
            With equal counts they are the same.
        direction: `"separate"`, or `"merge"` for dimensions or factors in
            which classes should *not* differ: then `v` sums `-ln(1 - Phi)`
            over the same dimensions. At the clip, it is at most about
            42.6 n a dimension (that of classes without spread).
        equal_variance: False for Welch's test: in each dimension,
            `s = (m_1 - m_2)^2 / (v_1 + v_2)`, with `v_i` the squared standard
            error of `m_i`, and `n` of Welch and Satterthwaite, which the
            gradient takes for constant. It has no grand mean, so that
            `grand_mean` is of no account, and classes of one instance are
            left out.
        reduction, name, dtype: As in `keras.losses.Loss`; float32 by default,
            since sums over a batch need its digits.

    Call arguments:
        y_true: Class ids `(batch,)` or `(batch, 1)`.
        y_pred: Embeddings `(batch, dim)`, not normalised.

    Returns:
        `(batch,)` before the reduction, the same value in every entry.

    Raises:
        ValueError: If an argument is not of the kind above, or if `num_dims`
            exceeds the dimension of the embeddings.

    Reference:
        - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312), Eq. 1.
          It proposes inverting the loss and tried Welch's test, both
          without a formula: those here are ours.

    Example:

    >>> encoder = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
    >>> loss = embeddings_tf.losses.FStatisticLoss(num_dims=2)
    >>> encoder.compile(optimizer="adam", loss=loss)
    """

    def __init__(
        self,
        num_dims: int = 2,
        grand_mean: str = "class_means",
        direction: str = "separate",
        *,
        equal_variance: bool = True,
        reduction="sum_over_batch_size",
        name="f_statistic_loss",
        dtype="float32",
    ):
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        self.num_dims = positive_integer("num_dims", num_dims)
        self.grand_mean = one_of("grand_mean", grand_mean, GRAND_MEANS)
        self.direction = one_of("direction", direction, DIRECTIONS)
        self.equal_variance = bool(equal_variance)

    @property
    def batch_needs(self) -> BatchNeeds:
        # Welch's test needs the spread of both classes.
        return PAIRS if self.equal_variance else PAIRS._replace(rows_of_other=2)

    def call(self, y_true, y_pred):
        return f_statistic_loss(
            y_true,
            y_pred,
            self.num_dims,
            self.grand_mean,
            self.direction,
            equal_variance=self.equal_variance,
        )

    def get_config(self):
        return {
            **super().get_config(),
            "dtype": self.dtype,
            "num_dims": self.num_dims,
            "grand_mean": self.grand_mean,
            "direction": self.direction,
            "equal_variance": self.equal_variance,
        }


class _Class(NamedTuple):
    """One class of each pair, float64.

    count: `(pairs, 1)`.
    spread: `(pairs, dim)`, positive; the spreads of two classes add up to
        the denominator of their ratio.
    """

    count: tf.Tensor
    spread: tf.Tensor


def _value_and_gradient(
    labels, embeddings, num_dims, grand_mean, direction, equal_variance
):
    dim = embeddings.shape[-1] or tf.shape(embeddings)[-1]
    dtype = embeddings.dtype
    if dtype == tf.float64:
        # Makes points that coincide exact zeros; sums of float32 are exact.
        embeddings -= embeddings[:1]
    present, ids = tf.unique(labels)
    num_classes = tf.size(present)

    def over_classes(values):
        return tf.math.unsorted_segment_sum(
            tf.cast(values, tf.float64), ids, num_classes
        )

    def of_rows(class_values):
        # gather takes longer; it divides little among many threads.
        return tf.gather_nd(tf.cast(class_values, dtype), ids[:, None])

    count = over_classes(tf.ones_like(embeddings[:, :1]))
    mean = over_classes(embeddings) / count
    # A class's points about its rounded mean: a difference of float32 is as
    # accurate as float32 can be, and exact where points are close.
    centre = tf.cast(mean, dtype)
    z = embeddings - of_rows(centre)
    offset = mean - tf.cast(centre, tf.float64)
    spread = over_classes(tf.square(tf.cast(z, tf.float64)))
    spread -= count * tf.square(offset)
    # Below 0 if differences of less than 1e-38 are lost.
    spread = tf.maximum(spread, 0)
    if not equal_variance:
        # Of the mean, Welch's test has the squared standard error.
        weight = tf.math.divide_no_nan(
            tf.constant(1, tf.float64), count * (count - 1)
        )
        spread *= weight
    spread += 1e-280  # never 0 / 0

    # truncatediv: of the divisions, the one whose result XLA can bound.
    num_pairs = tf.truncatediv(num_classes * (num_classes - 1), 2)
    block = tf.range(tf.minimum(num_pairs, tf.maximum(1, BLOCK_SIZE // dim)))
    block_size = tf.size(block)

    def of_block(start):
        """The value, and the gradient in mean and spread, flat."""
        index = start + block
        pair = tf.stack(_classes_of_pair(tf.minimum(index, num_pairs - 1)))
        count_a, count_b, mean_a, mean_b, spread_a, spread_b = (
            one_of_two
            for values in (count, mean, spread)
            for one_of_two in tf.unstack(tf.gather(values, pair))
        )
        difference = mean_a - mean_b
        value, slope, ratio, dims = _test(
            tf.square(difference) / (spread_a + spread_b),
            (index < num_pairs)[:, None],  # the last block may go on
            _Class(count_a, spread_a),
            _Class(count_b, spread_b),
            num_dims,
            grand_mean,
            direction,
            equal_variance,
        )
        # From the log of the ratio to its numerator and its denominator, which
        # is the squared difference over the ratio. That may be infinite.
        difference = tf.gather(difference, dims, batch_dims=1)
        in_mean = tf.math.divide_no_nan(2 * slope, difference)
        in_spread = tf.math.divide_no_nan(
            tf.math.multiply_no_nan(ratio, in_mean), -2 * difference
        )
        gradient = tf.math.unsorted_segment_sum(
            tf.stack([in_mean, -in_mean, in_spread, in_spread]),
            tf.concat([pair, pair + num_classes], 0)[..., None] * dim + dims,
            2 * num_classes * dim,
        )
        return tf.reduce_sum(value), gradient

    def add_block(start, value, gradient):
        added_value, added_gradient = of_block(start)
        return (
            start + block_size,
            value + added_value,
            gradient + added_gradient,
        )

    # One block is the usual case, and a loop of one takes longer than one.
    first = of_block(0)
    value, gradient = tf.cond(
        block_size < num_pairs,
        lambda: tf.while_loop(
            lambda start, *_: start < num_pairs,
            add_block,
            [block_size, *first],
            parallel_iterations=1,
        )[1:],
        lambda: [*first],
    )
    # top_k passes over what is not a number.
    is_finite = tf.math.is_finite(tf.reduce_sum(spread))
    value = tf.where(is_finite, value, tf.constant(np.nan, tf.float64))
    # Of a class's mean and its sum of squares, in each of its points.
    in_mean, in_spread = tf.unstack(tf.reshape(gradient, [2, num_classes, dim]))
    if not equal_variance:
        in_spread *= weight
    in_square = 2 * in_spread
    in_point = in_mean / count - in_square * offset
    # Its root twice: embeddings below 1e-19 would take the square out of
    # float32. Below 1e-35 what is left of a gradient is this bound.
    sign = 1 if direction == "separate" else -1
    bound = tf.constant(1e-3 * dtype.max, tf.float64)
    root = of_rows(tf.minimum(tf.sqrt(sign * in_square), bound))
    gradient = sign * z * root * root
    gradient += of_rows(tf.clip_by_value(in_point, -bound, bound))
    return tf.cast(value, dtype), gradient


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
    spreads, and `is_pair`, false for rows of no account. Returns, for the
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
