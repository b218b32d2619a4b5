"""Evaluates held-out data during training like the final evaluation."""

import numpy as np

from embeddings_tf import callbacks
from trainers.measures.embed import embed


class HeldOut(callbacks.EmbeddingEvaluation):
    """Embeds each utterance as a whole, one by one."""

    def embed(self) -> np.ndarray:
        return embed(self.model, self.x, shown=False)
