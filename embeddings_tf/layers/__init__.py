"""Keras layers."""

from embeddings_tf.layers.as_distribution import as_distribution
from embeddings_tf.layers.gaussian_embedding import GaussianEmbedding

__all__ = ["GaussianEmbedding", "as_distribution"]
