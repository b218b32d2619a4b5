"""The base class of objectives that classify the queries of an episode."""

import tensorflow as tf

from embeddings_tf.objectives.embedding_objective import EmbeddingObjective
from embeddings_tf.ops.active_share import active_queries
from embeddings_tf.ops.batch_needs import BatchNeeds
from embeddings_tf.ops.batch_needs import episode_needs
from embeddings_tf.ops.episode import split_episode
from embeddings_tf.ops.labelled_batch import labelled_batch

# Samples per query, for a share of queries.
NUM_SAMPLES = 20


class EpisodicObjective(EmbeddingObjective):
    """Splits a batch into `num_support` supports per class and queries.

    Subclasses have the attribute `num_support`, and the methods `represent`
    and `log_prob`.
    """

    @property
    def batch_needs(self) -> BatchNeeds:
        return episode_needs(self.num_support)

    def batch_diagnostics(self, labels, embeddings) -> dict:
        """The share of queries of the batch that are not learned yet.

        Returns:
            `active_queries`: the share of queries whose class has a
            probability below 0.99; 0 without queries.
        """
        labels, embeddings = labelled_batch(labels, embeddings)
        episode = split_episode(labels, self.num_support)
        if tf.reduce_all(episode.is_support):
            return {"active_queries": 0.0}
        represented = self.represent(
            episode.supports(embeddings),
            episode.supports(episode.class_ids),
            episode.num_classes,
        )
        log_prob = self.log_prob(
            episode.queries(embeddings),
            represented,
            num_samples=NUM_SAMPLES,
            seed=0,
        )
        targets = episode.queries(episode.class_ids)
        of_targets = tf.gather(log_prob, targets, batch_dims=1)
        return {"active_queries": active_queries(of_targets)}
