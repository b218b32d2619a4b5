"""An optimizer and a learning rate of published trainings."""

from embeddings_tf.optimizers.inverse_square_root_decay import (
    InverseSquareRootDecay,
)
from embeddings_tf.optimizers.sgd_with_l2 import SGDWithL2

__all__ = ["InverseSquareRootDecay", "SGDWithL2"]
