"""Keras callbacks that evaluate and show embeddings during training."""

from embeddings_tf.callbacks.embedding_diagnostics import EmbeddingDiagnostics
from embeddings_tf.callbacks.embedding_evaluation import EmbeddingEvaluation
from embeddings_tf.callbacks.embedding_pictures import EmbeddingPictures
from embeddings_tf.callbacks.embedding_projector import EmbeddingProjector
from embeddings_tf.callbacks.run_settings import RunSettings
from embeddings_tf.callbacks.throughput import Throughput
from embeddings_tf.callbacks.training_diagnostics import TrainingDiagnostics

__all__ = [
    "EmbeddingDiagnostics",
    "EmbeddingEvaluation",
    "EmbeddingPictures",
    "EmbeddingProjector",
    "RunSettings",
    "Throughput",
    "TrainingDiagnostics",
]
