"""Evaluates held-out data during training like the final evaluation."""

import numpy as np

from embeddings_tf import callbacks
from embeddings_tf.models.method import Method
from trainers.measures.embed import embed


class HeldOut(callbacks.EmbeddingEvaluation):
    """Embeds each utterance as a whole, one by one."""

    def embed(self) -> np.ndarray:
        return embed(self.model, self.x, shown=False)


class HeldOutPoints(HeldOut):
    """Evaluates embeddings as points.

    `embeddings` stays the output of the model, from which predicted variances
    are read.
    """

    def measure(self, embeddings) -> dict[str, float]:
        if self.metrics:  # the recall without metrics takes means itself
            embeddings = Method(self.model).points(embeddings).numpy()
        return super().measure(embeddings)
