"""The numbers of inputs that a `Typicality` compares."""

import math

import numpy as np

from embeddings_tf.datasets import Utterances
from embeddings_tf.ops import arguments
from embeddings_tf.ops.first_not_finite import first_not_finite

BATCH = 256
_MOST_NUMBERS = 2048


def evenly_spaced(length: int) -> np.ndarray:
    """Places of at most `_MOST_NUMBERS` of the numbers of an input."""
    return np.linspace(
        0, length - 1, min(length, _MOST_NUMBERS), dtype=np.int64
    )


def input_shape(x) -> tuple[int, ...]:
    """The shape of an input, without the batch."""
    length = arguments.num_rows("x", x)
    if isinstance(x, Utterances):
        raise ValueError(
            "`x` must be inputs of one shape; received utterances, whose "
            "lengths differ."
        )
    if not length:
        raise ValueError("`x` must have at least one input; received none.")
    return arguments.array("x", x[0:1]).shape[1:]


def input_numbers(x, shape, rows) -> np.ndarray:
    """The compared numbers of some rows, `(rows, numbers)` in float32."""
    places, found = evenly_spaced(math.prod(shape)), []
    for first in range(0, len(x), BATCH):
        some = rows[(rows >= first) & (rows < first + BATCH)] - first
        if not len(some):
            continue
        batch = arguments.array("x", x[first : first + BATCH])
        if batch.shape[1:] != shape or batch.dtype.kind not in "biuf":
            raise ValueError(
                f"`x` must be real numbers of one shape, {shape}; received "
                f"dtype {batch.dtype} and shape {batch.shape[1:]}."
            )
        flat = batch.reshape(len(batch), -1)[some][:, places]
        with np.errstate(over="ignore"):
            single = flat.astype(np.float32)
        bad = first_not_finite(single)
        if bad is not None:
            what = "is not finite: it contains NaN or infinite values. Remove "
            if np.isfinite(flat[bad]).all():
                what = "has numbers beyond the range of float32. Rescale "
            raise ValueError(f"Input {first + some[bad]} {what}them first.")
        found.append(single)
    return np.concatenate(found)
