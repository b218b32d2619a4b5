"""The rows and classes that a batch needs to train a loss."""

import dataclasses

import tensorflow as tf

from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import text
from embeddings_tf.ops.class_sizes import class_sizes
from embeddings_tf.ops.labelled_batch import class_labels


@dataclasses.dataclass(frozen=True)
class BatchNeeds:
    """The rows and classes that a batch must have to train a loss.

    Return it from `batch_needs` of a loss or objective of your own. A row is
    teachable (has a training signal) if its class and another class have
    enough rows.

    Args:
        rows: Rows that the class of the row needs, including the row.
        rows_of_other: Rows that another class needs, at most `rows`.
        sampler: A call that makes such batches, for the warning.

    Raises:
        ValueError: If an argument is not as described.

    Example:

    >>> needs = embeddings_tf.losses.BatchNeeds(
    ...     3, 1, "sampling.class_balanced_batches(labels, 10, 3, seed=0)"
    ... )
    >>> needs.teachable_rows(tf.constant([0, 0, 0, 1, 1])).numpy()
    array([ True,  True,  True, False, False])
    """

    rows: int
    rows_of_other: int
    sampler: str

    def __post_init__(self):
        rows = positive_integer("rows", self.rows)
        of_other = positive_integer("rows_of_other", self.rows_of_other)
        if of_other > rows:
            raise ValueError(
                "`rows_of_other` must be at most `rows`; received "
                f"rows_of_other={of_other} and rows={rows}."
            )
        text("sampler", self.sampler)

    def teachable_rows(self, labels) -> tf.Tensor:
        """Marks the rows that have a training signal.

        Args:
            labels: Class ids `(batch,)` or `(batch, 1)`.

        Returns:
            bool `(batch,)`.
        """
        ids, counts = class_sizes(class_labels(labels))
        classes = tf.cast(counts >= self.rows_of_other, tf.int32)
        has_other = tf.reduce_sum(classes) > 1
        return (tf.gather(counts, ids) >= self.rows) & has_other

    def describe(self) -> str:
        """Returns two sentences: the rule and the cure."""
        count = self.rows_of_other
        of_other = "1 row" if count == 1 else f"{count} rows"
        return (
            f"A row can teach if its batch has at least {self.rows} rows of "
            f"its class and {of_other} of another class. Feed batches from "
            f"{self.sampler}, through embeddings_tf.datasets.batches."
        )


PAIRS = BatchNeeds(
    2,
    1,
    "embeddings_tf.sampling.class_balanced_batches(labels, num_classes, "
    "num_per_class, seed)",
)


def episode_needs(num_support: int) -> BatchNeeds:
    """Returns the needs of a loss on episodes: supports and a query."""
    return BatchNeeds(
        num_support + 1,
        1,
        "embeddings_tf.sampling.episodes(labels, num_classes, "
        f"num_support={num_support}, num_query, seed)",
    )
