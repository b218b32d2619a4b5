"""Batches of several instances of several classes, as indices."""

from typing import Any

import tensorflow as tf

from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import truth
from embeddings_tf.sampling.arguments import check_instances
from embeddings_tf.sampling.arguments import check_num_classes
from embeddings_tf.sampling.arguments import class_ids
from embeddings_tf.sampling.class_table import class_table
from embeddings_tf.sampling.equal_counts import equal_counts
from embeddings_tf.sampling.published_epochs import published_epochs
from embeddings_tf.sampling.steps import without_factor


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
        seed: Integer, also a negative one. Batch number `step` depends on
            `(seed, step)` only.
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
    num_classes = positive_integer("num_classes", num_classes)
    num_per_class = positive_integer("num_per_class", num_per_class)
    table = class_table(class_ids(labels))
    if truth("allow_fewer", allow_fewer):
        return published_epochs(
            [table], ["labels"], num_classes, num_per_class, seed, start
        ).map(without_factor)
    check_num_classes(table, num_classes)
    check_instances(
        table,
        num_per_class,
        f"num_per_class={num_per_class}",
        "use a smaller num_per_class, drop these classes, or pass "
        "allow_fewer=True",
    )
    return equal_counts([table], num_classes, num_per_class, seed, start).map(
        without_factor
    )
