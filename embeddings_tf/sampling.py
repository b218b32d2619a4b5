"""Batches as index vectors: labels in, a `tf.data.Dataset` of indices out.

A batch is a pure function of `(seed, step)`: random numbers are stateless. So
the iterator can be saved with `tf.train.Checkpoint`, and `start=` continues at
any step without replaying earlier steps. The datasets are infinite: pass
`steps_per_epoch` to `model.fit`.
"""

import functools
from collections.abc import Callable
from collections.abc import Sequence
from numbers import Integral
from typing import Any
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from embeddings_tf.ops.arguments import LARGEST
from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import truth

__all__ = ["class_balanced_batches", "episodes", "factor_batches"]

# Independent streams of random numbers, folded into the seed.
_CLASSES, _INSTANCES, _ORDER = 0, 1, 2
# On a CPU, where tf.data draws, this selects Philox. The graph is smaller than
# with "philox", and gives the same numbers.
_PHILOX = "auto_select"


def class_balanced_batches(
    labels: Any,
    num_classes: int,
    num_per_class: int,
    seed: int,
    *,
    start: int = 0,
    allow_fewer: bool = False,
) -> tf.data.Dataset:
    """Batches of several instances of several classes, as indices.

    Use it for losses that compare the examples of one batch. Each batch
    contains `num_per_class` distinct instances of each of `num_classes`
    distinct classes, class by class.

    Classes are shuffled once per epoch. An epoch is
    `ceil(number of classes / num_classes)` steps, in which every class
    appears; the last batch of an epoch is filled from the start of the
    epoch's order. Every batch draws its instances anew, uniformly without
    replacement and in random order (Floyd's algorithm: the cost of a batch
    does not depend on the number of instances of a class).

    With `allow_fewer=True` the dataset follows the published epoch of the
    F-statistic loss, in which no instance is used twice. Classes with fewer
    than 2 instances are dropped. A pass goes through the shuffled classes in
    groups of `num_classes` and takes up to `num_per_class` unused instances of
    each. Passes repeat over the classes with at least 2 unused instances,
    until fewer than 2 such classes are left. A batch has at least 2 classes
    and at least 2 instances of each, and its length varies. Its cost is
    proportional to the total size of its classes.

    Args:
        labels: Class ids, integers of shape `(num_examples,)` or
            `(num_examples, 1)`, with any values in any order.
        num_classes: Classes per batch (at most, with `allow_fewer=True`).
        num_per_class: Instances per class (at most, with `allow_fewer=True`).
        seed: Integer. Batch number `step` depends on `(seed, step)` only.
        start: Step of the first batch, to resume a run.
        allow_fewer: Whether to follow the published epoch: without
            replacement, in batches of any length.

    Returns:
        An infinite `tf.data.Dataset` of int32 indices into `labels`, of shape
        `(num_classes * num_per_class,)`, or `(None,)` with
        `allow_fewer=True`.

    Raises:
        ValueError: If `labels` are not a non-empty vector of integers, if a
            count is not positive, if there are fewer classes than asked for
            or if a class has too few instances.

    Reference:
        - [Ridgeway and Mozer, 2018](https://arxiv.org/abs/1802.05312)

    Example:

    >>> labels = np.repeat([7, 8, 9], 100)
    >>> batches = embeddings_tf.sampling.class_balanced_batches(
    ...     labels, num_classes=3, num_per_class=2, seed=0
    ... )
    >>> for indices in batches.take(1):
    ...     print(np.sort(labels[indices]))
    [7 7 8 8 9 9]
    """
    num_classes = _count("num_classes", num_classes)
    num_per_class = _count("num_per_class", num_per_class)
    table = _group(_check_labels(labels))
    if truth("allow_fewer", allow_fewer):
        return _published_epochs(
            [table], ["labels"], num_classes, num_per_class, seed, start
        ).map(_without_factor)
    _check_num_classes(table, num_classes)
    _check_instances(
        table,
        num_per_class,
        f"num_per_class={num_per_class}",
        "use a smaller num_per_class, drop these classes, or pass "
        "allow_fewer=True",
    )
    return _strict([table], num_classes, num_per_class, seed, start).map(
        _without_factor
    )


def episodes(
    labels: Any,
    num_classes: int,
    num_support: int,
    num_query: int,
    seed: int,
    *,
    start: int = 0,
) -> tf.data.Dataset:
    """Few-shot episodes, as indices: supports and queries of several classes.

    Use it for objectives and evaluations that represent a class by its
    supports and classify the queries. The indices are ordered by class, with
    the supports of a class before its queries, so that
    `tf.reshape(indices, (num_classes, num_support + num_query))` splits into
    supports `[:, :num_support]` and queries `[:, num_support:]`. Supports and
    queries never share an instance. Classes and instances are drawn as in
    `class_balanced_batches`.

    Args:
        labels: Class ids, integers of shape `(num_examples,)` or
            `(num_examples, 1)`.
        num_classes: Classes per episode.
        num_support: Supports per class.
        num_query: Queries per class.
        seed: Integer. Episode number `step` depends on `(seed, step)` only.
        start: Step of the first episode, to resume a run.

    Returns:
        An infinite `tf.data.Dataset` of int32 indices into `labels`, of shape
        `(num_classes * (num_support + num_query),)`.

    Raises:
        ValueError: As `class_balanced_batches`.

    Example:

    >>> labels = np.repeat(np.arange(10), 100)
    >>> dataset = embeddings_tf.sampling.episodes(labels, 5, 1, 15, seed=0)
    >>> for indices in dataset.take(1):
    ...     rows = tf.reshape(indices, (5, 1 + 15))
    ...     support, query = rows[:, :1], rows[:, 1:]
    """
    num_classes = _count("num_classes", num_classes)
    num_support = _count("num_support", num_support)
    num_query = _count("num_query", num_query)
    table = _group(_check_labels(labels))
    _check_num_classes(table, num_classes)
    _check_instances(
        table,
        num_support + num_query,
        f"num_support + num_query = {num_support} + {num_query}",
        "use fewer supports or queries, or drop these classes",
    )
    return _strict(
        [table], num_classes, num_support + num_query, seed, start
    ).map(_without_factor)


def factor_batches(
    factors: Any,
    num_values: int,
    num_per_value: int,
    seed: int,
    *,
    start: int = 0,
    allow_fewer: bool = False,
) -> tf.data.Dataset:
    """Batches in which the values of one factor are the classes, as indices.

    Use it to train on data with several labels per example (factors such as
    hair and gender), with one of the factors as the label of each batch. The
    factors take turns, one batch each. The batch of a factor contains
    `num_per_value` distinct instances of each of `num_values` distinct values
    of this factor, value by value, drawn as in `class_balanced_batches`.

    A factor with fewer than `num_values` values contributes all of them: with
    `num_values=12` a binary factor gives `2 * num_per_value` indices. The
    length of a batch therefore depends on the factor only. The static shape
    contains the length if it is the same for all factors, and is `(None,)`
    otherwise.

    With `allow_fewer=True` every factor follows the published epoch of
    `class_balanced_batches`, in which no instance is used twice for the same
    factor. Factors take turns until each has finished its own epoch; finished
    factors are skipped. Then the next epoch begins.

    Args:
        factors: Integers of shape `(num_examples, num_factors)`.
        num_values: Values per batch, at most.
        num_per_value: Instances per value (at most, with `allow_fewer=True`).
        seed: Integer. Batch number `step` depends on `(seed, step)` only.
        start: Step of the first batch, to resume a run.
        allow_fewer: Whether to follow the published epoch: without
            replacement, in batches of any length.

    Returns:
        An infinite `tf.data.Dataset` of `(indices, factor)`: int32 indices
        into the rows of `factors` and the factor, a scalar int32. The labels
        of the batch are `factors[indices, factor]`.

    Raises:
        ValueError: If `factors` are not a non-empty matrix of integers, if a
            count is not positive, if a factor has a single value (while
            `num_values > 1`) or if a value has too few instances.

    Reference:
        - [Ridgeway and Mozer, 2018](https://arxiv.org/abs/1802.05312)

    Example:

    >>> factors = np.stack([np.arange(60) % 2, np.arange(60) % 3], axis=1)
    >>> dataset = embeddings_tf.sampling.factor_batches(factors, 12, 5, seed=0)
    >>> for indices, factor in dataset.take(2):
    ...     labels = factors[indices, factor]
    ...     print(factor.numpy(), len(labels))
    0 10
    1 15
    """
    num_values = _count("num_values", num_values)
    num_per_value = _count("num_per_value", num_per_value)
    factors = array("factors", factors)
    if factors.ndim != 2 or not factors.size:
        raise ValueError(
            f"factors have shape {factors.shape}; expected a non-empty matrix "
            "(num_examples, num_factors). For a single factor pass "
            "factors[:, None], or use class_balanced_batches."
        )
    _check_integers("factors", factors)
    names = [f"factors[:, {i}]" for i in range(factors.shape[1])]
    tables = [_group(column) for column in factors.T]
    if truth("allow_fewer", allow_fewer):
        return _published_epochs(
            tables, names, num_values, num_per_value, seed, start
        )
    for name, table in zip(names, tables, strict=True):
        if len(table.ids) < min(2, num_values):
            raise ValueError(
                f"{name} has a single value, {table.ids[0]}; expected at "
                "least two, because its batches would have only one class. "
                "Drop this column."
            )
        _check_instances(
            table,
            num_per_value,
            f"num_per_value={num_per_value}",
            "use a smaller num_per_value, drop these examples, or pass "
            "allow_fewer=True",
            where=f"{name}: ",
        )
    return _strict(tables, num_values, num_per_value, seed, start)


class _Table(NamedTuple):
    """Indices sorted by class: class c is order[starts[c]:][:counts[c]]."""

    order: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    ids: np.ndarray


def _group(labels: np.ndarray) -> _Table:
    low, high = labels.min(), labels.max()
    if int(high) - int(low) < 2**31:
        # A stable sort of label and place as one number, ten times as fast.
        keys = (labels.astype(np.int64) - low.astype(np.int64)) << 32
        keys |= np.arange(len(labels))
        keys.sort()
        order = keys & (2**32 - 1)
    else:
        order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    counts = np.diff(np.r_[starts, len(labels)])
    return _Table(order.astype(np.int32), starts, counts, ordered[starts])


def _strict(
    tables: Sequence[_Table],
    num_classes: int,
    num_per_class: int,
    seed: int,
    start: int,
) -> tf.data.Dataset:
    """Equal counts, several label columns taking turns: (indices, factor)."""
    order, starts, counts, first_class = _concatenate(tables)
    sizes = [len(table.ids) for table in tables]
    taken = [min(size, num_classes) for size in sizes]
    lengths = {num * num_per_class for num in taken}
    length = lengths.pop() if len(lengths) == 1 else None
    num_factors = len(tables)
    seed = _seed(seed)

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
                lambda: _shuffled_range(
                    sizes[factor], _fold(seed, _CLASSES, factor, epoch)
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
        places = _draw_distinct(
            tf.gather(counts, classes),
            num_per_class,
            _fold(seed, _INSTANCES, step),
            _fold(seed, _ORDER, step),
        )
        places += tf.gather(starts, classes)[:, None]
        indices = tf.gather(order, tf.reshape(places, [-1]))
        indices = tf.ensure_shape(indices, (length,))
        return indices, tf.cast(step % num_factors, tf.int32)

    no_epoch = tf.constant(-1, tf.int64)
    orders = tuple((no_epoch, tf.zeros([n], tf.int64)) for n in sizes)
    choose_classes = tf.autograph.experimental.do_not_convert(choose_classes)
    steps = tf.data.Dataset.counter(_first_step(start))
    return _map(steps.scan(orders, choose_classes), batch)


def _published_epochs(
    tables: Sequence[_Table],
    names: Sequence[str],
    num_classes: int,
    num_per_class: int,
    seed: int,
    start: int,
) -> tf.data.Dataset:
    """The epoch without replacement, several label columns taking turns.

    How many classes are left in which pass depends on the class sizes alone,
    not on chance. So the shape of an epoch is one table computed beforehand
    (`plan`: factor, pass, group and number of classes left of every batch),
    and a batch needs nothing from the batches before it.
    """
    if num_classes < 2 or num_per_class < 2:
        raise ValueError(
            f"Received counts {num_classes} (classes or values) and "
            f"{num_per_class} (instances of each); with allow_fewer=True both "
            "must be at least 2, because a batch needs two classes with two "
            "instances each. Use larger counts."
        )
    # A batch is padded to this length before it is cut.
    num_per_class = min(
        num_per_class, max(2, *(table.counts.max() for table in tables))
    )
    # Classes in descending order of the number of passes they take part in:
    # the classes left in a pass are then the first ones.
    sorted_tables, plan = [], []
    for factor, (name, table) in enumerate(zip(names, tables, strict=True)):
        passes = (table.counts - 2) // num_per_class + 1
        passes[table.counts < 2] = 0
        by_passes = np.argsort(-passes, kind="stable")
        table = table._replace(
            starts=table.starts[by_passes],
            counts=table.counts[by_passes],
            ids=table.ids[by_passes],
        )
        sorted_tables.append(table)
        left = np.searchsorted(-passes[by_passes], -np.arange(passes.max()))
        left = left[left >= 2]
        if not len(left):
            raise ValueError(
                f"{name}: {np.sum(passes > 0)} classes have two or more "
                "instances; expected at least two such classes. Add examples, "
                "or drop this label."
            )
        # A last group of one class is left out: it has no negative pairs.
        groups = (left + num_classes - 2) // num_classes
        turn = np.arange(groups.sum())
        number = np.repeat(np.arange(len(left)), groups)
        first = np.repeat(np.cumsum(groups) - groups, groups)
        plan.append(
            np.stack(
                [
                    turn,
                    np.full_like(turn, factor),
                    number,
                    turn - first,
                    left[number],
                ],
                axis=1,
            )
        )
    steps = np.concatenate(plan)
    steps = steps[np.lexsort((steps[:, 1], steps[:, 0]))]
    steps_per_epoch = len(steps)
    plan = tf.constant(steps)
    order, starts, counts, first_class = _concatenate(sorted_tables)
    seed = _seed(seed)

    def batch(step: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        row = plan[step % steps_per_epoch]
        factor, number, group, left = row[1], row[2], row[3], row[4]
        epoch = step // steps_per_epoch
        shuffled = _shuffled_range(
            left, _fold(seed, _CLASSES, epoch, factor, number)
        )
        classes = shuffled[group * num_classes : (group + 1) * num_classes]
        instances_seed = _fold(seed, _INSTANCES, epoch, factor)

        def take(one: tf.Tensor) -> tf.Tensor:
            # The same shuffle of the class in every pass of an epoch.
            count = counts[first_class[factor] + one]
            places = _shuffled_range(count, _fold(instances_seed, one))
            places = places[number * num_per_class :][:num_per_class]
            places += starts[first_class[factor] + one]
            missing = num_per_class - tf.size(places)
            return tf.pad(places, [[0, missing]], constant_values=-1)

        places = tf.reshape(tf.map_fn(take, classes), [-1])
        places = tf.boolean_mask(places, places >= 0)
        indices = tf.gather(order, places)
        return indices, tf.cast(factor, tf.int32)

    return _counter(start, batch)


def _concatenate(tables: Sequence[_Table]) -> tuple[tf.Tensor, ...]:
    """All factors in one table: order, starts, counts, first class, row."""
    num_classes = [len(table.ids) for table in tables]
    first_class = np.cumsum([0, *num_classes[:-1]])
    first_row = np.arange(len(tables)) * len(tables[0].order)
    order = np.concatenate([table.order for table in tables])
    starts = np.concatenate(
        [
            table.starts + row
            for table, row in zip(tables, first_row, strict=True)
        ]
    )
    counts = np.concatenate([table.counts for table in tables])
    return tuple(map(tf.constant, (order, starts, counts, first_class)))


def _draw_distinct(
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
    drawn = _random_bits(shape, seed) % (highest + 1)
    same = drawn[:, :, None] == drawn[:, None, :]
    earlier = tf.constant(np.tri(num_draws, k=-1, dtype=bool))
    taken = tf.reduce_any(same & earlier, axis=2)
    reference = drawn - (counts - num_draws)[:, None]
    reference = tf.where(reference >= 0, reference, draws)
    for _ in range((num_draws - 1).bit_length()):
        taken |= tf.gather(taken, reference, batch_dims=1)
        reference = tf.gather(reference, reference, batch_dims=1)
    kept = tf.where(taken, highest, drawn)
    keys = _random_bits(shape, order_seed)
    order = tf.argsort(keys, direction="DESCENDING")
    return tf.gather(kept, order, batch_dims=1)


def _shuffled_range(size: int | tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    return tf.random.experimental.stateless_shuffle(
        tf.range(tf.cast(size, tf.int64)), seed, alg=_PHILOX
    )


def _random_bits(shape: Any, seed: tf.Tensor) -> tf.Tensor:
    """Uniform int64 over the whole range (a modulus of it has no real bias)."""
    return tf.random.stateless_uniform(
        shape, seed, None, None, tf.int64, alg=_PHILOX
    )


def _seed(seed: int) -> tf.Tensor:
    if isinstance(seed, bool) or not isinstance(seed, Integral):
        raise ValueError(
            f"seed is {seed!r}; expected an integer, because a batch is a "
            "function of (seed, step). Pass for example seed=0."
        )
    return tf.constant([int(seed) % 2**63, 0], tf.int64)


def _fold(seed: tf.Tensor, *numbers: int | tf.Tensor) -> tf.Tensor:
    for number in numbers:
        seed = tf.random.experimental.stateless_fold_in(
            seed, tf.cast(number, tf.int64), alg=_PHILOX
        )
    return seed


def _counter(start: int, batch: Callable) -> tf.data.Dataset:
    return _map(tf.data.Dataset.counter(_first_step(start)), batch)


def _map(dataset: tf.data.Dataset, batch: Callable) -> tf.data.Dataset:
    return dataset.map(tf.autograph.experimental.do_not_convert(batch))


def _first_step(start: int) -> int:
    if isinstance(start, bool) or not (
        isinstance(start, Integral) and start >= 0
    ):
        raise ValueError(
            f"start is {start!r}; expected the step of the first batch, an "
            "integer of at least 0."
        )
    return start


def _without_factor(indices: tf.Tensor, factor: tf.Tensor) -> tf.Tensor:
    return indices


def _count(name: str, value: int) -> int:
    if isinstance(value, bool) or not (
        isinstance(value, Integral) and 0 < value <= LARGEST
    ):
        raise ValueError(
            f"{name} is {value!r}; expected an integer of at least 1 (and at "
            f"most {LARGEST})."
        )
    return int(value)


def _check_labels(labels: Any) -> np.ndarray:
    labels = array("labels", labels)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]  # as in the arrays of Keras
    if labels.ndim != 1:
        raise ValueError(
            f"labels have shape {labels.shape}; expected one class id per "
            "example, shape (num_examples,). One-hot labels become ids by "
            "np.argmax(labels, axis=-1)."
        )
    if not len(labels):
        raise ValueError(
            "labels are empty; expected one class id per example. Pass the "
            "labels of the data set that the indices shall point into."
        )
    _check_integers("labels", labels)
    return labels


def _check_integers(name: str, values: np.ndarray) -> None:
    if not np.issubdtype(values.dtype, np.integer):
        raise ValueError(
            f"{name} have dtype {values.dtype}; expected integers. Turn other "
            "ids into integers by np.unique(ids, return_inverse=True)[1]."
        )


def _check_num_classes(table: _Table, num_classes: int) -> None:
    if len(table.ids) < num_classes:
        raise ValueError(
            f"num_classes={num_classes}, but labels hold {len(table.ids)} "
            "distinct classes; expected at least num_classes. Use "
            f"num_classes={len(table.ids)} or less."
        )


def _check_instances(
    table: _Table, needed: int, what: str, remedy: str, where: str = ""
) -> None:
    few = np.flatnonzero(table.counts < needed)
    if len(few):
        raise ValueError(
            f"{where}class {table.ids[few[0]]} has "
            f"{table.counts[few[0]]} instances; expected at least {needed} "
            f"({what}). {len(few)} of {len(table.ids)} classes have too few: "
            f"{remedy}."
        )
