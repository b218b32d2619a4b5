"""The epoch of Ridgeway & Mozer 2018, in which no instance is used twice."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from embeddings_tf.ops.arguments import step_number
from embeddings_tf.sampling.class_table import ClassTable
from embeddings_tf.sampling.class_table import concatenate
from embeddings_tf.sampling.stateless_random import CLASSES
from embeddings_tf.sampling.stateless_random import INSTANCES
from embeddings_tf.sampling.stateless_random import fold_in
from embeddings_tf.sampling.stateless_random import seed_of_streams
from embeddings_tf.sampling.stateless_random import shuffled_range
from embeddings_tf.sampling.steps import map_steps

# Numbers of each batch of an epoch.
COLUMNS = ("turn", "factor", "pass", "group", "classes_left")


def published_epochs(
    tables: Sequence[ClassTable],
    names: Sequence[str],
    num_classes: int,
    num_per_class: int,
    seed: int,
    start: int,
) -> tf.data.Dataset:
    """The epoch without replacement, several label columns taking turns.

    How many classes are left in which pass depends on the class sizes alone,
    not on chance. So the shape of an epoch is one table computed beforehand,
    and a batch needs nothing from the batches before it.
    """
    if num_classes < 2 or num_per_class < 2:
        raise ValueError(
            "With allow_fewer=True a batch must have at least 2 classes (or "
            "values) with 2 instances each; received counts "
            f"{num_classes} and {num_per_class}. Use larger counts."
        )
    # A batch is padded to this length before it is cut.
    num_per_class = min(
        num_per_class, max(2, *(table.counts.max() for table in tables))
    )
    ordered, plans = [], []
    for factor, (name, table) in enumerate(zip(names, tables, strict=True)):
        table, columns = _epoch_of_factor(
            name, table, num_classes, num_per_class
        )
        ordered.append(table)
        factors = np.full(len(columns["turn"]), factor)
        plans.append({**columns, "factor": factors})
    plan = {name: np.concatenate([p[name] for p in plans]) for name in COLUMNS}
    # Factors take turns.
    by_turn = np.lexsort((plan["factor"], plan["turn"]))
    steps_per_epoch = len(by_turn)
    plan = {name: tf.constant(plan[name][by_turn]) for name in COLUMNS}
    order, starts, counts, first_class = concatenate(ordered)
    seed = seed_of_streams(seed)

    def batch(step: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        row = {name: plan[name][step % steps_per_epoch] for name in COLUMNS}
        factor, number = row["factor"], row["pass"]
        epoch = step // steps_per_epoch
        shuffled = shuffled_range(
            row["classes_left"], fold_in(seed, CLASSES, epoch, factor, number)
        )
        classes = shuffled[row["group"] * num_classes :][:num_classes]
        instances_seed = fold_in(seed, INSTANCES, epoch, factor)

        def take(one: tf.Tensor) -> tf.Tensor:
            # The same shuffle of the class in every pass of an epoch.
            count = counts[first_class[factor] + one]
            places = shuffled_range(count, fold_in(instances_seed, one))
            places = places[number * num_per_class :][:num_per_class]
            places += starts[first_class[factor] + one]
            missing = num_per_class - tf.size(places)
            return tf.pad(places, [[0, missing]], constant_values=-1)

        places = tf.reshape(tf.map_fn(take, classes), [-1])
        places = tf.boolean_mask(places, places >= 0)
        indices = tf.gather(order, places)
        return indices, tf.cast(factor, tf.int32)

    return map_steps(
        tf.data.Dataset.counter(step_number("start", start)), batch
    )


def _epoch_of_factor(
    name: str, table: ClassTable, num_classes: int, num_per_class: int
) -> tuple[ClassTable, dict[str, np.ndarray]]:
    """The shape of one epoch of one label column.

    Returns:
        The table with its classes in descending order of the number of passes
        they take part in, so that the classes left in a pass are the first
        ones; and numbers of each batch: its turn, pass, group of classes in
        the pass, and the number of classes left in the pass.
    """
    passes = (table.counts - 2) // num_per_class + 1
    passes[table.counts < 2] = 0
    by_passes = np.argsort(-passes, kind="stable")
    left = np.searchsorted(-passes[by_passes], -np.arange(passes.max()))
    left = left[left >= 2]
    if not len(left):
        raise ValueError(
            f"`{name}` must have at least two classes with two or more "
            f"instances; received {np.sum(passes > 0)}. Add examples, or drop "
            "this label."
        )
    # A last group of one class is left out: it has no negative pairs.
    groups = (left + num_classes - 2) // num_classes
    turn = np.arange(groups.sum())
    number = np.repeat(np.arange(len(left)), groups)
    first = np.repeat(np.cumsum(groups) - groups, groups)
    table = table._replace(
        starts=table.starts[by_passes],
        counts=table.counts[by_passes],
        ids=table.ids[by_passes],
    )
    return table, {
        "turn": turn,
        "pass": number,
        "group": turn - first,
        "classes_left": left[number],
    }
