"""Turns embeddings into answers: galleries, neighbours, verification."""

from embeddings_tf.scoring.adaptive_score_normalization import (
    AdaptiveScoreNormalization,
)
from embeddings_tf.scoring.embed import embed
from embeddings_tf.scoring.gallery import Gallery
from embeddings_tf.scoring.isotonic_calibration import IsotonicCalibration
from embeddings_tf.scoring.logistic_calibration import LogisticCalibration
from embeddings_tf.scoring.nearest_neighbors import NearestNeighbors
from embeddings_tf.scoring.typicality import Typicality
from embeddings_tf.scoring.verifier import Verifier

__all__ = [
    "AdaptiveScoreNormalization",
    "Gallery",
    "IsotonicCalibration",
    "LogisticCalibration",
    "NearestNeighbors",
    "Typicality",
    "Verifier",
    "embed",
]
