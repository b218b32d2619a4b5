"""Turns embeddings into answers: galleries, neighbours, verification."""

from embeddings_tf.scoring.embed import embed
from embeddings_tf.scoring.gallery import Gallery

__all__ = ["Gallery", "embed"]
