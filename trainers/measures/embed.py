"""Embeddings of arrays and of utterances."""

import numpy as np

from embeddings_tf import scoring
from embeddings_tf.datasets import Utterances
from embeddings_tf.models.has_uncertainty import has_uncertainty
from embeddings_tf.models.method import Method
from embeddings_tf.ops.counted import counted
from trainers.terminal.progress import CountedRows
from trainers.terminal.progress import Progress

BLOCK = 256


def split_to_embed(data, name: str) -> tuple:
    """A split of the data, announced: embedding it may take minutes."""
    x, labels = data.split(name)
    print(f"Embedding {counted(len(x), 'example')} of {name}.", flush=True)
    return x, labels


def embed_points(model, x) -> np.ndarray:
    """Embeds all of `x` as points; a Gaussian becomes its mean."""
    return Method(model).points(embed(model, x)).numpy()


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
    if not has_uncertainty(model):
        return None
    batch_size = BLOCK
    if isinstance(x, Utterances):
        x, batch_size = _OneByOne(x), 1
    if shown:
        x = CountedRows(x, Progress(len(x), "example"))
    return model.predict_uncertainty(x, batch_size)


class _OneByOne:
    """Utterances as batches of one, because they differ in length."""

    def __init__(self, utterances: Utterances):
        self.utterances = utterances

    def __len__(self) -> int:
        return len(self.utterances)

    def __getitem__(self, rows: slice) -> np.ndarray:
        return self.utterances[rows.start][np.newaxis]
