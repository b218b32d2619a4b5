"""The rows and classes that a batch needs to train a loss."""

from typing import NamedTuple

import tensorflow as tf

from embeddings_tf.ops.class_sizes import class_sizes


class BatchNeeds(NamedTuple):
    """The rows that a batch needs.

    A row is teachable (has a training signal) if its class and another class
    have enough rows.

    rows: Rows that the class of the row needs, including the row.
    rows_of_other: Rows that another class needs, at most `rows`.
    sampler: A call that makes such batches.
    """

    rows: int
    rows_of_other: int
    sampler: str

    def teachable_rows(self, labels: tf.Tensor) -> tf.Tensor:
        """Marks the rows that have a training signal, given integer labels.

        Returns bool `(batch,)`.
        """
        ids, counts = class_sizes(labels)
        classes = tf.cast(counts >= self.rows_of_other, tf.int32)
        has_other = tf.reduce_sum(classes) > 1
        return (tf.gather(counts, ids) >= self.rows) & has_other

    def describe(self) -> str:
        """Returns two sentences: the rule and the cure."""
        rows = "1 row" if self.rows_of_other == 1 else f"{self.rows} rows"
        return (
            f"A row can teach if its batch has at least {self.rows} rows of "
            f"its class and {rows} of another class. Feed batches from "
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
