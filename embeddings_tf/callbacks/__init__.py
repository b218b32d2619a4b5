"""Keras callbacks."""

from embeddings_tf.callbacks.embedding_diagnostics import EmbeddingDiagnostics
from embeddings_tf.callbacks.embedding_evaluation import EmbeddingEvaluation
from embeddings_tf.callbacks.embedding_projector import EmbeddingProjector

__all__ = [
    "EmbeddingDiagnostics",
    "EmbeddingEvaluation",
    "EmbeddingProjector",
]
