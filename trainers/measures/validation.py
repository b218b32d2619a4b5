"""Validation of the commands during training."""

import numpy as np

from embeddings_tf import callbacks
from embeddings_tf.models.method import Method
from trainers.measures.embed import embed


class Validation(callbacks.EmbeddingEvaluation):
    """Embeds validation data like the final evaluation.

    Arrays and images are embedded in blocks, utterances one by one.
    """

    def embed(self) -> np.ndarray:
        return embed(self.model, self.x, shown=False)


class PointValidation(Validation):
    """Passes embeddings to the metrics as points.

    `embeddings` stays the output of the model, from which predicted variances
    are read.
    """

    def measure(self, embeddings) -> dict[str, float]:
        if self.metrics:  # the recall without metrics takes means itself
            embeddings = Method(self.model).points(embeddings).numpy()
        return super().measure(embeddings)
