"""Embeddings of arrays and of utterances."""

import numpy as np
import tensorflow as tf

from embeddings_tf import callbacks
from embeddings_tf.datasets import Utterances
from embeddings_tf.models.method import Method

BLOCK = 256


def split_to_embed(data, name: str) -> tuple:
    """A split of the data, announced: embedding it may take minutes."""
    x, labels = data.split(name)
    print(f"Embedding {len(x)} examples of {name}.", flush=True)
    return x, labels


class HeldOutPoints(callbacks.EmbeddingEvaluation):
    """Evaluates points, with each utterance embedded as a whole."""

    def embed(self) -> np.ndarray:
        return embed_points(self.model, self.x)


def embed_points(model, x) -> np.ndarray:
    """Embeds all of `x` as points; a Gaussian becomes its mean."""
    return Method(model).points(embed(model, x)).numpy()


def embed(model, x) -> np.ndarray:
    """Embeds all of `x`: arrays in blocks, utterances one by one."""
    if isinstance(x, Utterances):
        return _embed_whole(model, x)
    blocks = [x[first : first + BLOCK] for first in range(0, len(x), BLOCK)]
    return np.concatenate([model.predict_on_batch(block) for block in blocks])


def _embed_whole(model, utterances) -> np.ndarray:
    example = utterances[0]

    # Traced once for all lengths, without XLA, which compiles each length.
    @tf.function(
        input_signature=[
            tf.TensorSpec((1, None, *example.shape[1:]), example.dtype)
        ],
        autograph=False,
    )
    def forward(utterance):
        return model(utterance, training=False)

    return np.concatenate(
        [
            forward(utterances[number][np.newaxis]).numpy()
            for number in range(len(utterances))
        ]
    )
