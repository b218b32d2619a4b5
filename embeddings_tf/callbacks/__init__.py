"""Keras callbacks."""

from embeddings_tf.callbacks.embedding_evaluation import EmbeddingEvaluation

__all__ = ["EmbeddingEvaluation"]
