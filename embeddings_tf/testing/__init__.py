"""Checks for your own losses, objectives, layers and metrics."""

from embeddings_tf.testing.check_layer import check_layer
from embeddings_tf.testing.check_loss import check_loss
from embeddings_tf.testing.check_metric import check_metric
from embeddings_tf.testing.check_objective import check_objective
from embeddings_tf.testing.two_replicas import two_replicas

__all__ = [
    "check_layer",
    "check_loss",
    "check_metric",
    "check_objective",
    "two_replicas",
]
