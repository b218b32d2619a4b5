"""Computes the input of a speech encoder from recordings."""

import tensorflow as tf

from embeddings_tf.datasets.speech import checks
from embeddings_tf.datasets.speech.count_frames import count_frames
from embeddings_tf.datasets.speech.energy_vad import energy_vad
from embeddings_tf.datasets.speech.keep_frames import keep_frames
from embeddings_tf.datasets.speech.mfcc import mfcc
from embeddings_tf.datasets.speech.subtract_sliding_mean import (
    subtract_sliding_mean,
)
from embeddings_tf.ops.arguments import positive_integer


def front_end(
    waveform,
    length=None,
    *,
    sample_rate: int = 16000,
    num_coefficients: int = 30,
    num_mel_bins: int = 30,
    low_frequency: float = 20.0,
    high_frequency: float = 7600.0,
    min_num_frames: int = 1,
) -> tuple[tf.Tensor, tf.Tensor]:
    """The front end of x-vector systems: waveforms to normalised MFCCs.

    Use it to make the inputs of `models.x_vector_encoder`. For training, call
    `x.map(lambda waveform: front_end(waveform)[0])`. For serving, pass it as
    the `preprocessing` of `export.export_saved_model`. Its steps are:

    1. `mfcc`, and `energy_vad` on their log energies,
    2. `subtract_sliding_mean` over 3 seconds,
    3. `keep_frames`, for the frames with speech,
    4. repetition of whole utterances with fewer than `min_num_frames` frames.

    Utterances are padded with 0, which the encoder ignores. An utterance has
    the same frames alone and in a batch.

    Args:
        waveform: Samples of shape `(samples,)` or `(batch, samples)`, in the
            range of 16-bit integers, of any numeric dtype.
        length: Numbers of samples without padding, integers of shape
            `(batch,)`; by default all.
        sample_rate: As for `mfcc`. Samples of another rate give wrong features
            without an error. `load` and `read_recordings` return the rate as
            `x.sample_rate`.
        num_coefficients: As for `mfcc`.
        num_mel_bins: As for `mfcc`.
        low_frequency: As for `mfcc`.
        high_frequency: As for `mfcc`.
        min_num_frames: Smallest number of frames of an utterance.

    Returns:
        Features, `float32` of shape `(frames, num_coefficients)` or `(batch,
        frames, num_coefficients)`, and the numbers of frames without padding,
        `int32` of shape `()` or `(batch,)`.

    Raises:
        ValueError: If arguments do not fit together. In eager mode also if an
            utterance is too short for a frame, has no speech (silence, or all
            samples in -1..1), or contains NaN or infinity. In a graph, the
            last three raise `tf.errors.InvalidArgumentError` when it runs.

    Reference:

    - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Section 4.2
    - [Snyder et al., 2018](https://doi.org/10.1109/ICASSP.2018.8461375)

    Example:

    >>> noise = 1000 * tf.random.stateless_normal((2, 8000), seed=(1, 2))
    >>> features, num_frames = embeddings_tf.datasets.speech.front_end(
    ...     noise, [8000, 4000], sample_rate=8000, high_frequency=3700.0
    ... )
    >>> features.shape, num_frames.numpy()
    (TensorShape([2, 100, 30]), array([100,  50], dtype=int32))
    """
    waveform = checks.float_tensor(
        "waveform", waveform, (1, 2), "(samples,) or (batch, samples)"
    )
    min_num_frames = positive_integer("min_num_frames", min_num_frames)
    batch = waveform[tf.newaxis] if waveform.shape.rank == 1 else waveform
    length = checks.lengths_of(batch, length, 0, "samples")
    features = mfcc(
        batch,
        length,
        sample_rate=sample_rate,
        num_coefficients=num_coefficients,
        num_mel_bins=num_mel_bins,
        low_frequency=low_frequency,
        high_frequency=high_frequency,
    )
    num_frames = count_frames(length, sample_rate=sample_rate)
    is_speech = energy_vad(features[..., 0], num_frames)
    # The threshold is partly relative: for samples in -1..1, everything but
    # digital silence would be speech.
    is_sample = tf.sequence_mask(length, tf.shape(batch)[1])
    loudness = tf.where(is_sample, tf.abs(batch), tf.zeros_like(batch))
    is_speech &= tf.reduce_max(loudness, axis=1, keepdims=True) > 1
    features = subtract_sliding_mean(features, num_frames)
    features, num_frames = keep_frames(features, is_speech)
    checks.require(
        tf.reduce_all(num_frames > 0),
        "An utterance has no speech in it, only silence; samples must be in "
        "the range of 16-bit integers, multiply those in -1..1 by 32768, or "
        "remove such utterances.",
    )

    once = tf.maximum(num_frames, 1)
    num_frames *= -(-min_num_frames // once)
    # The minimum is needed for batches without utterances.
    longest = tf.reduce_max(
        tf.pad(num_frames, [[0, 1]], constant_values=min_num_frames)
    )
    frame = tf.range(longest)
    features = tf.gather(
        tf.pad(features, [[0, 0], [0, 1], [0, 0]]),  # in case of no frames
        tf.math.floormod(frame, once[:, tf.newaxis]),
        batch_dims=1,
    )
    is_frame = tf.sequence_mask(num_frames, tf.size(frame))
    features = tf.where(is_frame[..., tf.newaxis], features, 0.0)
    if waveform.shape.rank == 1:
        return features[0], num_frames[0]
    return features, num_frames
