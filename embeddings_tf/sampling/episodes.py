"""Few-shot episodes, as indices."""

from typing import Any

import tensorflow as tf

from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.sampling.arguments import check_instances
from embeddings_tf.sampling.arguments import check_num_classes
from embeddings_tf.sampling.arguments import class_ids
from embeddings_tf.sampling.class_table import class_table
from embeddings_tf.sampling.equal_counts import equal_counts
from embeddings_tf.sampling.steps import without_factor


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
        seed: Integer, also a negative one. Episode number `step` depends on
            `(seed, step)` only.
        start: Step of the first episode, to resume a run.

    Returns:
        An infinite `tf.data.Dataset` of int32 indices into `labels`, of shape
        `(num_classes * (num_support + num_query),)`.

    Raises:
        ValueError: As `class_balanced_batches`.

    Reference:
        - [Vinyals et al., 2016](https://arxiv.org/abs/1606.04080), episodes.
        - [Snell, Swersky & Zemel, 2017](https://arxiv.org/abs/1703.05175),
          supports and queries.

    Example:

    >>> labels = np.repeat(np.arange(10), 100)
    >>> dataset = embeddings_tf.sampling.episodes(labels, 5, 1, 15, seed=0)
    >>> for indices in dataset.take(1):
    ...     rows = tf.reshape(indices, (5, 1 + 15))
    ...     support, query = rows[:, :1], rows[:, 1:]
    """
    num_classes = positive_integer("num_classes", num_classes)
    num_support = positive_integer("num_support", num_support)
    num_query = positive_integer("num_query", num_query)
    table = class_table(class_ids(labels))
    check_num_classes(table, num_classes)
    check_instances(
        table,
        num_support + num_query,
        f"num_support + num_query = {num_support} + {num_query}",
        "use fewer supports or queries, or drop these classes",
    )
    return equal_counts(
        [table], num_classes, num_support + num_query, seed, start
    ).map(without_factor)
