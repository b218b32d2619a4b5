"""Batches in which the values of one factor are the classes, as indices."""

from typing import Any

import tensorflow as tf

from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import truth
from embeddings_tf.sampling.arguments import check_instances
from embeddings_tf.sampling.arguments import check_integers
from embeddings_tf.sampling.class_table import class_table
from embeddings_tf.sampling.equal_counts import equal_counts
from embeddings_tf.sampling.published_epochs import published_epochs


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
        seed: Integer, also a negative one. Batch number `step` depends on
            `(seed, step)` only.
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
    num_values = positive_integer("num_values", num_values)
    num_per_value = positive_integer("num_per_value", num_per_value)
    factors = array("factors", factors)
    if factors.ndim != 2 or not factors.size:
        raise ValueError(
            "`factors` must be a matrix with rows and columns, (num_examples, "
            f"num_factors); received shape {factors.shape}. For a single "
            "factor pass factors[:, None], or use class_balanced_batches."
        )
    check_integers("factors", factors)
    names = [f"factors[:, {i}]" for i in range(factors.shape[1])]
    tables = [class_table(column) for column in factors.T]
    if truth("allow_fewer", allow_fewer):
        return published_epochs(
            tables, names, num_values, num_per_value, seed, start
        )
    for name, table in zip(names, tables, strict=True):
        if len(table.ids) < min(2, num_values):
            raise ValueError(
                f"`{name}` must have at least two values, because a batch has "
                f"the values as classes; received {table.ids[0]} alone. Drop "
                "this column."
            )
        check_instances(
            table,
            num_per_value,
            f"num_per_value={num_per_value}",
            "use a smaller num_per_value, drop these examples, or pass "
            "allow_fewer=True",
            where=f"{name}: ",
        )
    return equal_counts(tables, num_values, num_per_value, seed, start)
