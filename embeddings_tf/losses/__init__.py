"""Losses for `model.compile`: labels and embeddings in, one value a row."""

from embeddings_tf.losses.prototypical_loss import PrototypicalLoss
from embeddings_tf.losses.prototypical_loss import prototypical_loss

__all__ = ["PrototypicalLoss", "prototypical_loss"]
