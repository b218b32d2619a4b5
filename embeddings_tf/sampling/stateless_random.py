"""Random numbers that depend on a seed alone: draws and shuffles."""

import numbers
from typing import Any

import numpy as np
import tensorflow as tf

# Independent streams of random numbers, folded into the seed.
CLASSES, INSTANCES, ORDER = 0, 1, 2
# On a CPU, where tf.data draws, this selects Philox. The graph is smaller than
# with "philox", and gives the same numbers.
PHILOX = "auto_select"


def seed_of_streams(seed: int) -> tf.Tensor:
    """Returns the seed of all streams; any integer is a valid seed."""
    if isinstance(seed, bool) or not isinstance(seed, numbers.Integral):
        raise ValueError(
            "`seed` must be an integer, because a batch is a function of "
            f"(seed, step); received {seed!r}. Pass for example seed=0."
        )
    return tf.constant([int(seed) % 2**63, 0], tf.int64)


def fold_in(seed: tf.Tensor, *numbers: int | tf.Tensor) -> tf.Tensor:
    """Returns the seed of the stream with these numbers."""
    for number in numbers:
        seed = tf.random.experimental.stateless_fold_in(
            seed, tf.cast(number, tf.int64), alg=PHILOX
        )
    return seed


def shuffled_range(size: int | tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Integers from 0 below `size` in random order, int64."""
    return tf.random.experimental.stateless_shuffle(
        tf.range(tf.cast(size, tf.int64)), seed, alg=PHILOX
    )


def random_bits(shape: Any, seed: tf.Tensor) -> tf.Tensor:
    """Uniform int64 over the whole range (a modulus of it has no real bias)."""
    return tf.random.stateless_uniform(
        shape, seed, None, None, tf.int64, alg=PHILOX
    )


def draw_distinct(
    counts: tf.Tensor, num_draws: int, seed: tf.Tensor, order_seed: tf.Tensor
) -> tf.Tensor:
    """Distinct random integers below each count, in random order.

    Floyd's algorithm draws t_i from 0..n-m+i for i = 0..m-1 and keeps it
    unless it was kept before, in which case it keeps n-m+i instead. All t_i
    are drawn at once here. t_i was kept before if an earlier draw has the same
    value, or if t_i = n-m+h for an earlier h that found t_h kept before: a
    chain of references to earlier draws, which is followed by doubling.

    Args:
        counts: int64 tensor `(num_classes,)`, each at least `num_draws`.
        num_draws: Number m of integers to draw below each count.
        seed: Seed of the draws.
        order_seed: Seed of the order in which the integers are returned.

    Returns:
        int64 tensor `(num_classes, num_draws)`.
    """
    shape = (tf.size(counts), num_draws)
    draws = tf.range(num_draws, dtype=tf.int64)
    highest = (counts - num_draws)[:, None] + draws
    drawn = random_bits(shape, seed) % (highest + 1)
    same = drawn[:, :, None] == drawn[:, None, :]
    earlier = tf.constant(np.tri(num_draws, k=-1, dtype=bool))
    taken = tf.reduce_any(same & earlier, axis=2)
    reference = drawn - (counts - num_draws)[:, None]
    reference = tf.where(reference >= 0, reference, draws)
    for _ in range((num_draws - 1).bit_length()):
        taken |= tf.gather(taken, reference, batch_dims=1)
        reference = tf.gather(reference, reference, batch_dims=1)
    kept = tf.where(taken, highest, drawn)
    keys = random_bits(shape, order_seed)
    order = tf.argsort(keys, direction="DESCENDING")
    return tf.gather(kept, order, batch_dims=1)
