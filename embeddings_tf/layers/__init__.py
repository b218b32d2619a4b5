"""Keras layers."""

from embeddings_tf.layers.additive_margin import AdditiveMargin
from embeddings_tf.layers.as_distribution import as_distribution
from embeddings_tf.layers.dimension_dropout import DimensionDropout
from embeddings_tf.layers.gaussian_embedding import GaussianEmbedding
from embeddings_tf.layers.local_response_normalization import (
    LocalResponseNormalization,
)
from embeddings_tf.layers.pair_distance import PairDistance
from embeddings_tf.layers.pixel_range import PixelRange
from embeddings_tf.layers.statistics_pooling import StatisticsPooling
from embeddings_tf.layers.uncertainty_head import UncertaintyHead

__all__ = [
    "AdditiveMargin",
    "DimensionDropout",
    "GaussianEmbedding",
    "LocalResponseNormalization",
    "PairDistance",
    "PixelRange",
    "StatisticsPooling",
    "UncertaintyHead",
    "as_distribution",
]
