"""Example inputs for the signatures of an export."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from embeddings_tf.export.row_checks import is_length

# Sizes of axes that a signature leaves open: samples of a waveform, pixels of
# a side or frames.
_WAVEFORM, _SIDE = 8_000, 64
# Integers that are pixels or samples; others are ids, whose range is unknown.
_OF_NOISE = (tf.uint8, tf.int16, tf.uint16)
# Pixels of a side of an image in a file.
_FILE = 24


def example_inputs(
    specs: Iterable[tf.TensorSpec], rows: int, encoded: str | int = "png"
) -> dict[str, np.ndarray]:
    """Returns valid inputs of a signature: noise of 0 to 255, files, labels.

    Args:
        specs: The inputs of the signature, under their names.
        rows: Size of the batch axis.
        encoded: Content of string inputs: `"png"`, or for WAV files the
            samples per second.

    Returns:
        Arrays by name. Lengths are the whole length of the input before
        them, labels take turns between 0 and 1, and seeds are 0.
    """
    rng = np.random.default_rng(0)
    inputs, width = {}, 0
    for spec in specs:
        shape = _shape(spec, rows)
        if spec.dtype == tf.string:
            found = np.full(shape, _file(encoded, rng), object)
        elif spec.dtype.is_floating or spec.dtype in _OF_NOISE:
            found = rng.integers(0, 256, shape)
        elif spec.name.endswith("labels"):
            found = np.arange(rows) % 2
        elif is_length(spec):
            found = np.full(shape, width)
        elif spec.name.endswith("seed"):
            found = np.zeros(shape)
        else:
            found = np.ones(shape)
        if spec.dtype != tf.string:
            found = np.asarray(found).astype(spec.dtype.as_numpy_dtype)
        inputs[spec.name] = found
        if spec.dtype != tf.string and len(shape) > 1:
            width = shape[1]
    return inputs


def _shape(spec: tf.TensorSpec, rows: int) -> tuple[int, ...]:
    """Shape with a number for every open axis; the first is the batch."""
    open_axis = _WAVEFORM if spec.shape.rank == 2 else _SIDE
    return tuple(
        size or (rows if axis == 0 else open_axis)
        for axis, size in enumerate(spec.shape)
    )


def _file(encoded: Any, rng: np.random.Generator) -> bytes:
    """A small image or a second of noise, as the contents of a file."""
    if encoded == "png":
        pixels = rng.integers(0, 256, (_FILE, _FILE, 3)).astype("uint8")
        return tf.io.encode_png(pixels).numpy()
    samples = rng.uniform(-0.5, 0.5, (encoded, 1)).astype("float32")
    return tf.audio.encode_wav(samples, encoded).numpy()
