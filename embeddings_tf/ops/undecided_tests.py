"""The share of the tests of the F-statistic loss that are not decided."""

import functools
import math

import tensorflow as tf

from embeddings_tf.ops import f_statistic
from embeddings_tf.ops.active_share import LEARNED


def share_of_undecided_tests(
    labels, embeddings, num_dims, grand_mean, direction, equal_variance
) -> tf.Tensor:
    """Share of tests of two classes in one dimension with Phi below 0.99.

    For the direction "merge", `1 - Phi` takes the place of Phi.

    Args:
        labels: Integers `(rows,)`.
        embeddings: `(rows, dim)`, float32 or float64.
        num_dims, grand_mean, direction, equal_variance: As in
            `losses.f_statistic_loss`.

    Returns:
        A scalar; 0 without two classes.
    """
    batch = f_statistic.statistics(labels, embeddings, equal_variance)

    test = functools.partial(
        f_statistic.compare_classes,
        num_dims=num_dims,
        grand_mean=grand_mean,
        direction=direction,
        equal_variance=equal_variance,
    )

    def count(*pairs):
        value, slope, ratio, dims = test(*pairs)
        is_active = tf.cast(value > -math.log(LEARNED), value.dtype)
        return is_active, tf.zeros_like(slope), ratio, dims

    active, _ = f_statistic.over_all_pairs(batch, count)
    classes = tf.cast(batch.num_classes, tf.float64)
    tests = num_dims * classes * (classes - 1) / 2
    return tf.math.divide_no_nan(active, tests)
