"""Counts the frames of recordings."""

import tensorflow as tf

from embeddings_tf.datasets.speech import checks
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import truth

_WINDOW_MILLISECONDS = 25
_SHIFT_MILLISECONDS = 10


def count_frames(
    length, *, sample_rate: int = 16000, snip_edges: bool = False
) -> tf.Tensor:
    """Counts the frames that `mfcc` computes for recordings.

    Use it to separate frames from padding in the result of `mfcc` for a batch,
    and to find recordings that are too short:

        (length + shift // 2) // shift             snip_edges=False
        max(0, (length - window) // shift + 1)     snip_edges=True

    with a window of 25 ms and a shift of 10 ms, in samples.

    Args:
        length: Numbers of samples, integers of any shape.
        sample_rate: Samples in a second, at least 400.
        snip_edges: As for `mfcc`.

    Returns:
        Numbers of frames, `int32` of the shape of `length`.

    Raises:
        ValueError: If `length` are not integers of at least 0 that fit int32,
            or `sample_rate` is below 400.

    Example:

    >>> embeddings_tf.datasets.speech.count_frames([16000, 80, 79]).numpy()
    array([100,   1,   0], dtype=int32)
    """
    length = checks.tensor("length", length)
    if not length.dtype.is_integer:
        raise ValueError(
            "length must be integers, numbers of samples; received dtype "
            f"{length.dtype.name}."
        )
    window, shift = window_and_shift(sample_rate)
    length = tf.cast(length, tf.int64)
    limit = tf.int32.max - sample_rate  # so that sums below fit int32
    checks.require(
        tf.reduce_all((length >= 0) & (length <= limit)),
        f"length must be numbers of samples, from 0 to {limit}; check it, or "
        "cut the recording.",
    )
    length = tf.cast(tf.clip_by_value(length, 0, limit), tf.int32)
    if truth("snip_edges", snip_edges):
        return tf.maximum((length - window) // shift + 1, 0)
    return (length + shift // 2) // shift


def window_and_shift(sample_rate: int) -> tuple[int, int]:
    """Returns window (25 ms) and shift (10 ms) in samples, rounded down."""
    sample_rate = positive_integer("sample_rate", sample_rate)
    if sample_rate < 400:
        raise ValueError(
            "`sample_rate` must be in samples per second, at least 400; "
            f"received {sample_rate}."
        )
    return (
        sample_rate * _WINDOW_MILLISECONDS // 1000,
        sample_rate * _SHIFT_MILLISECONDS // 1000,
    )
