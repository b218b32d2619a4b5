"""Embeddings of arrays and of utterances."""

import numpy as np

from embeddings_tf import scoring
from embeddings_tf.datasets import Utterances
from embeddings_tf.models.method import Method
from trainers.terminal.progress import Progress

BLOCK = 256


def split_to_embed(data, name: str) -> tuple:
    """A split of the data, announced: embedding it may take minutes."""
    x, labels = data.split(name)
    print(f"Embedding {len(x)} examples of {name}.", flush=True)
    return x, labels


def embed_points(model, x, shown: bool = True) -> np.ndarray:
    """Embeds all of `x` as points; a Gaussian becomes its mean."""
    return Method(model).points(embed(model, x, shown)).numpy()


def embed(model, x, shown: bool = True) -> np.ndarray:
    """Embeds all of `x`: arrays in blocks, utterances one by one.

    Shows the progress, unless `shown` is False as during a training, which
    shows its own.
    """
    advance = Progress(len(x), "example").advance if shown else None
    return scoring.embed(model, x, batch_size=BLOCK, progress=advance)


def head_uncertainty(model, x, shown: bool = True) -> np.ndarray | None:
    """Uncertainties `(n,)` of the model's `UncertaintyHead`, None without one.

    Shows the progress, unless `shown` is False.
    """
    if getattr(model, "uncertainty", None) is None:
        return None
    # Utterances differ in length, so each is a batch.
    if isinstance(x, Utterances):
        batches = (x[number][np.newaxis] for number in range(len(x)))
    else:
        batches = (x[i : i + BLOCK] for i in range(0, len(x), BLOCK))
    progress = Progress(len(x), "example") if shown else None
    found = []
    for batch in batches:
        found.append(model.predict_uncertainty(batch))
        if progress is not None:
            progress.advance(len(batch))
    return np.concatenate(found)
