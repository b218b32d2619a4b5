"""Detects frames with speech by their energy."""

import tensorflow as tf

from embeddings_tf.datasets.speech import checks
from embeddings_tf.ops.arguments import finite_number
from embeddings_tf.ops.arguments import number_at_least


def energy_vad(
    log_energy,
    length=None,
    *,
    threshold: float = 5.5,
    mean_scale: float = 0.5,
    context: int = 2,
    proportion: float = 0.12,
) -> tf.Tensor:
    """Marks the frames that contain speech by their energy, like Kaldi.

    Use it on `mfcc(...)[..., 0]`, the log energy before any normalisation, and
    pass the result to `keep_frames`. A frame is loud if

        log_energy > threshold + mean_scale * mean(log_energy of the utterance)

    A frame is speech if at least `proportion` of the frames from `context`
    before it to `context` after it are loud. The defaults are from Kaldi's
    recipe for VoxCeleb, for samples in the range of 16-bit integers. All
    frames of silence are False.

    Args:
        log_energy: Numbers of shape `(frames,)` or `(batch, frames)`.
        length: Numbers of frames without padding, integers of shape
            `(batch,)`; by default all.
        threshold: Log energy, see above.
        mean_scale: Weight of the mean, at least 0.
        context: Frames before and after, at least 0.
        proportion: Share of loud frames, in `[0, 1]`.

    Returns:
        `bool` of the shape of `log_energy`, False for padding.

    Raises:
        ValueError: If arguments are not as described. In eager mode also if
            energies contain NaN or infinity; in a graph, this raises a
            `tf.errors.InvalidArgumentError` when it runs.

    Reference:

    - [Kaldi, egs/voxceleb/v2](https://github.com/kaldi-asr/kaldi)

    Example:

    >>> energy = tf.constant([0.0, 0.0, 0.0, 20.0, 20.0, 0.0, 0.0, 0.0])
    >>> embeddings_tf.datasets.speech.energy_vad(energy, context=1).numpy()
    array([False, False,  True,  True,  True,  True, False, False])
    """
    log_energy = checks.float_tensor(
        "log_energy", log_energy, (1, 2), "(frames,) or (batch, frames)"
    )
    threshold = finite_number("threshold", threshold)
    mean_scale = number_at_least("mean_scale", mean_scale, 0)
    proportion = number_at_least("proportion", proportion, 0)
    if proportion > 1:
        raise ValueError(
            f"`proportion` must be at most 1; received {proportion}."
        )
    if number_at_least("context", context, 0) != int(context):
        raise ValueError(
            f"`context` must be a whole number of frames; received {context!r}."
        )
    # Windows need not be longer than the longest utterance.
    context = min(int(context), 2**30)
    batch = log_energy[tf.newaxis] if log_energy.shape.rank == 1 else log_energy
    length = checks.lengths_of(batch, length, 0, "frames")[:, tf.newaxis]
    frame = tf.range(tf.shape(batch)[1])
    is_valid = frame < length
    checks.require_finite("log_energy", batch, is_valid)
    mean = tf.math.divide_no_nan(
        tf.reduce_sum(tf.where(is_valid, batch, 0.0), axis=1, keepdims=True),
        tf.cast(length, tf.float32),
    )
    is_loud = is_valid & (batch > threshold + mean_scale * mean)
    num_loud = tf.pad(
        tf.cumsum(tf.cast(is_loud, tf.int32), axis=1), [[0, 0], [1, 0]]
    )
    first = tf.minimum(tf.maximum(frame - context, 0), length)
    end = tf.minimum(frame + context + 1, length)
    found = tf.gather(num_loud, end, batch_dims=1) - tf.gather(
        num_loud, first, batch_dims=1
    )
    needed = proportion * tf.cast(end - first, tf.float32)
    is_speech = is_valid & (tf.cast(found, tf.float32) >= needed)
    is_speech = tf.ensure_shape(is_speech, batch.shape)
    return is_speech[0] if log_energy.shape.rank == 1 else is_speech
