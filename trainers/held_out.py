"""Held-out data that are embedded as the evaluation embeds them."""

import numpy as np

from embeddings_tf import callbacks
from trainers.embed import embed


class HeldOut(callbacks.EmbeddingEvaluation):
    """Embeds utterances whole, each by itself."""

    def embed(self) -> np.ndarray:
        return embed(self.model, self.x)
