"""Losses for `model.compile`: one value per row from labels and embeddings."""

from embeddings_tf.losses.binomial_deviance_loss import BinomialDevianceLoss
from embeddings_tf.losses.binomial_deviance_loss import binomial_deviance_loss
from embeddings_tf.losses.contrastive_loss import ContrastiveLoss
from embeddings_tf.losses.contrastive_loss import contrastive_loss
from embeddings_tf.losses.embedding_loss import EmbeddingLoss
from embeddings_tf.losses.f_statistic_loss import FStatisticLoss
from embeddings_tf.losses.f_statistic_loss import f_statistic_loss
from embeddings_tf.losses.histogram_loss import HistogramLoss
from embeddings_tf.losses.histogram_loss import histogram_loss
from embeddings_tf.losses.lifted_structure_loss import LiftedStructureLoss
from embeddings_tf.losses.lifted_structure_loss import lifted_structure_loss
from embeddings_tf.losses.prototypical_loss import PrototypicalLoss
from embeddings_tf.losses.prototypical_loss import prototypical_loss
from embeddings_tf.losses.triplet_loss import TripletLoss
from embeddings_tf.losses.triplet_loss import triplet_loss
from embeddings_tf.ops.batch_needs import BatchNeeds
from embeddings_tf.ops.pairs import set_wise

__all__ = [
    "BatchNeeds",
    "BinomialDevianceLoss",
    "ContrastiveLoss",
    "EmbeddingLoss",
    "FStatisticLoss",
    "HistogramLoss",
    "LiftedStructureLoss",
    "PrototypicalLoss",
    "TripletLoss",
    "binomial_deviance_loss",
    "contrastive_loss",
    "f_statistic_loss",
    "histogram_loss",
    "lifted_structure_loss",
    "prototypical_loss",
    "set_wise",
    "triplet_loss",
]
