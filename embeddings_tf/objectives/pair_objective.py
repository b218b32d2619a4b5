"""The base class of objectives that learn whether two rows match."""

from embeddings_tf.objectives.embedding_objective import EmbeddingObjective
from embeddings_tf.ops.active_share import active_pairs
from embeddings_tf.ops.labelled_batch import labelled_batch


class PairObjective(EmbeddingObjective):
    """Scores pairs by a log-likelihood ratio, with `score_all_pairs`."""

    def batch_diagnostics(self, labels, embeddings) -> dict:
        """The share of pairs of rows that are not learned yet.

        Returns:
            `active_pairs`: the share of pairs whose right answer, same class
            or not, has a probability below 0.99.
        """
        labels, embeddings = labelled_batch(labels, embeddings)
        logits = self.score_all_pairs(embeddings, embeddings)
        return {"active_pairs": active_pairs(labels, logits)}
