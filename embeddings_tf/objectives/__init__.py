"""Objectives: losses that own weights, as Keras layers."""

from embeddings_tf.objectives.embedding_objective import EmbeddingObjective
from embeddings_tf.objectives.full_covariance_prototypes import (
    FullCovariancePrototypes,
)
from embeddings_tf.objectives.hedged_instances import HedgedInstances
from embeddings_tf.objectives.learned_distance import LearnedDistance
from embeddings_tf.objectives.soft_contrastive import SoftContrastive
from embeddings_tf.objectives.stochastic_prototypes import StochasticPrototypes

__all__ = [
    "EmbeddingObjective",
    "FullCovariancePrototypes",
    "HedgedInstances",
    "LearnedDistance",
    "SoftContrastive",
    "StochasticPrototypes",
]
