"""Keras callbacks that evaluate and show embeddings during training."""

from embeddings_tf.callbacks.embedding_diagnostics import EmbeddingDiagnostics
from embeddings_tf.callbacks.embedding_evaluation import EmbeddingEvaluation
from embeddings_tf.callbacks.embedding_projector import EmbeddingProjector

__all__ = [
    "EmbeddingDiagnostics",
    "EmbeddingEvaluation",
    "EmbeddingProjector",
]
