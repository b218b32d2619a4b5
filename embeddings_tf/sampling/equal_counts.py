"""Batches with equal counts, drawn anew with each batch."""

import functools
from collections.abc import Sequence

import tensorflow as tf

from embeddings_tf.ops.arguments import step_number
from embeddings_tf.sampling.class_table import ClassTable
from embeddings_tf.sampling.class_table import concatenate
from embeddings_tf.sampling.stateless_random import CLASSES
from embeddings_tf.sampling.stateless_random import INSTANCES
from embeddings_tf.sampling.stateless_random import ORDER
from embeddings_tf.sampling.stateless_random import draw_distinct
from embeddings_tf.sampling.stateless_random import fold_in
from embeddings_tf.sampling.stateless_random import seed_of_streams
from embeddings_tf.sampling.stateless_random import shuffled_range
from embeddings_tf.sampling.steps import map_steps


def equal_counts(
    tables: Sequence[ClassTable],
    num_classes: int,
    num_per_class: int,
    seed: int,
    start: int,
) -> tf.data.Dataset:
    """Equal counts, several label columns taking turns: (indices, factor)."""
    order, starts, counts, first_class = concatenate(tables)
    sizes = [len(table.ids) for table in tables]
    taken = [min(size, num_classes) for size in sizes]
    lengths = {num * num_per_class for num in taken}
    length = lengths.pop() if len(lengths) == 1 else None
    num_factors = len(tables)
    seed = seed_of_streams(seed)

    def choose_classes(orders: tuple, step: tf.Tensor) -> tuple:
        """Keeps the orders of classes: an epoch shuffles its classes once."""
        turn = step // num_factors

        def of_factor(factor: int) -> tuple:
            known, shuffled = orders[factor]
            steps_per_epoch = -(-sizes[factor] // taken[factor])
            epoch = turn // steps_per_epoch
            shuffled = tf.cond(
                known == epoch,
                lambda: shuffled,
                lambda: shuffled_range(
                    sizes[factor], fold_in(seed, CLASSES, factor, epoch)
                ),
            )
            # A slice of the order, around the end if need be.
            first = turn % steps_per_epoch * taken[factor]
            places = first + tf.range(taken[factor], dtype=tf.int64)
            classes = tf.gather(shuffled, places % sizes[factor])
            changed = list(orders)
            changed[factor] = epoch, shuffled
            return tuple(changed), classes + first_class[factor]

        if num_factors == 1:
            orders, classes = of_factor(0)
        else:
            orders, classes = tf.switch_case(
                tf.cast(step % num_factors, tf.int32),
                [functools.partial(of_factor, i) for i in range(num_factors)],
            )
        return orders, (step, classes)

    def batch(step: tf.Tensor, classes: tf.Tensor) -> tuple:
        places = draw_distinct(
            tf.gather(counts, classes),
            num_per_class,
            fold_in(seed, INSTANCES, step),
            fold_in(seed, ORDER, step),
        )
        places += tf.gather(starts, classes)[:, None]
        indices = tf.gather(order, tf.reshape(places, [-1]))
        indices = tf.ensure_shape(indices, (length,))
        return indices, tf.cast(step % num_factors, tf.int32)

    no_epoch = tf.constant(-1, tf.int64)
    orders = tuple((no_epoch, tf.zeros([n], tf.int64)) for n in sizes)
    choose_classes = tf.autograph.experimental.do_not_convert(choose_classes)
    steps = tf.data.Dataset.counter(step_number("start", start))
    return map_steps(steps.scan(orders, choose_classes), batch)
