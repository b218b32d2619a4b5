"""Computes mel-frequency cepstral coefficients (MFCC)."""

import math

import numpy as np
import tensorflow as tf

from embeddings_tf.datasets.speech import checks
from embeddings_tf.datasets.speech.count_frames import count_frames
from embeddings_tf.datasets.speech.count_frames import window_and_shift
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import truth

_PRE_EMPHASIS = 0.97
_LIFTER = 22
# Floor of energies before the logarithm, as in Kaldi, and the largest sample:
# the energy of a frame of larger samples exceeds float32.
_LARGEST_SAMPLE = 1e15
_FLOOR = float(np.finfo(np.float32).eps)


def mfcc(
    waveform,
    length=None,
    *,
    sample_rate: int = 16000,
    num_coefficients: int = 30,
    num_mel_bins: int = 30,
    low_frequency: float = 20.0,
    high_frequency: float = 7600.0,
    snip_edges: bool = False,
) -> tf.Tensor:
    """Mel-frequency cepstral coefficients (MFCC), as Kaldi computes them.

    Use it as the first step of a speaker or speech model, in `tf.data` or as a
    part of the exported model. The defaults are from x-vector systems for
    recordings of 16 kHz. For telephone recordings of 8 kHz these systems take
    23 coefficients, 23 bins and `high_frequency=3700`. For each window of
    25 ms, every 10 ms:

        x     the window minus its mean
        e     ln(sum x^2), the log energy
        y_i   (x_i - 0.97 x_(i-1)) (0.54 - 0.46 cos(2 pi i / (N - 1)))
        P     |FFT y|^2, of the next power of two, without the last frequency
        m_b   ln of the sum of P under triangle b; the triangles are evenly
              spaced on mel(f) = 1127 ln(1 + f / 700) from low to high
        c_k   (1 + 11 sin(pi k / 22)) sqrt(2 / B) sum_b m_b cos(pi k (b + 1/2)
              / B), the orthonormal DCT times the lifter
        c_0   replaced by e

    `x_(-1)` is `x_0`. Energies are at least 1.2e-7 before the logarithm, so
    silence has finite features, `e = -15.9`. Unlike Kaldi's default, this
    function uses a Hamming window and adds no noise (dither), so a recording
    always has the same features.

    Args:
        waveform: Samples of shape `(samples,)` or `(batch, samples)`, in the
            range of 16-bit integers, of any numeric dtype.
        length: Numbers of samples without padding, integers of shape
            `(batch,)`; by default all. Padding has no influence.
        sample_rate: Samples per second, at least 400. Resample recordings with
            another rate first.
        num_coefficients: Number of coefficients, at most `num_mel_bins`.
        num_mel_bins: Number of triangles on the mel scale.
        low_frequency: Start of the first triangle, in Hz.
        high_frequency: End of the last triangle, in Hz, at most half of
            `sample_rate`.
        snip_edges: Whether to use only windows inside the recording.
            Otherwise windows are centred every 10 ms, and the recording is
            mirrored at its ends.

    Returns:
        `float32` of shape `(frames, num_coefficients)` or `(batch, frames,
        num_coefficients)`. `count_frames(length)` returns the number of frames
        without padding; the padding is 0.

    Raises:
        ValueError: If arguments are not as described or do not fit together.
            In eager mode also if a recording has no frame or contains NaN or
            infinity. In a graph, the last two raise
            `tf.errors.InvalidArgumentError` when it runs.

    References:

    - [Kaldi, feature extraction](https://kaldi-asr.org/doc/feat.html)
    - [Snyder et al., 2018](https://doi.org/10.1109/ICASSP.2018.8461375)

    Example:

    >>> noise = 1000 * tf.random.stateless_normal((16000,), seed=(1, 2))
    >>> embeddings_tf.datasets.speech.mfcc(noise).shape
    TensorShape([100, 30])
    """
    waveform = checks.float_tensor(
        "waveform", waveform, (1, 2), "(samples,) or (batch, samples)"
    )
    num_coefficients = positive_integer("num_coefficients", num_coefficients)
    num_mel_bins = positive_integer("num_mel_bins", num_mel_bins)
    snip_edges = truth("snip_edges", snip_edges)
    if num_coefficients > num_mel_bins:
        raise ValueError(
            f"`num_coefficients` must be at most `num_mel_bins`, received "
            f"{num_coefficients} and {num_mel_bins}."
        )
    window, shift = window_and_shift(sample_rate)
    fft_length = 2 ** math.ceil(math.log2(window))
    mel_weights = _mel_weights(
        sample_rate, fft_length, num_mel_bins, low_frequency, high_frequency
    )
    if waveform.shape.rank == 1:
        batch = waveform[tf.newaxis]
    else:
        batch = waveform
    length = checks.lengths_of(batch, length, 0, "samples")
    num_frames = count_frames(
        length, sample_rate=sample_rate, snip_edges=snip_edges
    )
    shortest = window if snip_edges else shift - shift // 2
    checks.require(
        tf.reduce_all(num_frames > 0),
        f"A recording is too short for a frame: expected at least {shortest} "
        f"samples at {sample_rate} Hz; remove such recordings.",
    )
    is_sample = tf.sequence_mask(length, tf.shape(batch)[1])
    checks.require_finite("waveform", batch, is_sample)
    checks.require(
        tf.reduce_all((tf.abs(batch) <= _LARGEST_SAMPLE) | ~is_sample),
        "waveform must be samples in the range of 16-bit integers; "
        "received some "
        f"above {_LARGEST_SAMPLE:g}, whose energy exceeds float32; scale it.",
    )

    num_samples = batch.shape[1]
    if num_samples is None:
        all_frames = count_frames(
            tf.shape(batch)[1], sample_rate=sample_rate, snip_edges=snip_edges
        )
    else:
        # A Python number, so that static shapes stay static.
        with tf.init_scope():
            all_frames = count_frames(
                num_samples, sample_rate=sample_rate, snip_edges=snip_edges
            )
            all_frames = int(all_frames)
    position = tf.range((all_frames - 1) * shift + window)
    if not snip_edges:
        position += shift // 2 - window // 2
    # Mirrored at both ends, repeatedly: a wave of period 2 * length.
    length = tf.maximum(length, 1)[:, tf.newaxis]
    position = tf.math.floormod(position, 2 * length)
    position = tf.minimum(position, 2 * length - 1 - position)
    # One more sample, for batches without samples, which are refused above.
    samples = tf.gather(tf.pad(batch, [[0, 0], [0, 1]]), position, batch_dims=1)
    frames = tf.signal.frame(samples, window, shift)

    frames -= tf.reduce_mean(frames, axis=-1, keepdims=True)
    log_energy = _log(tf.reduce_sum(tf.square(frames), axis=-1, keepdims=True))
    before = tf.concat([frames[..., :1], frames[..., :-1]], axis=-1)
    angle = 2.0 * np.pi * np.arange(window) / (window - 1)
    hamming = (0.54 - 0.46 * np.cos(angle)).astype(np.float32)
    spectrum = tf.signal.rfft(
        (frames - _PRE_EMPHASIS * before) * hamming, [fft_length]
    )
    power = tf.square(tf.math.real(spectrum)) + tf.square(
        tf.math.imag(spectrum)
    )
    cepstra = tf.matmul(
        _log(tf.tensordot(power, mel_weights, 1)),
        _lifted_dct(num_mel_bins, num_coefficients)[tf.newaxis],
    )
    features = tf.concat([log_energy, cepstra[..., 1:]], axis=-1)
    is_frame = tf.sequence_mask(num_frames, all_frames)[..., tf.newaxis]
    features = tf.where(is_frame, features, 0.0)
    return features[0] if waveform.shape.rank == 1 else features


def _log(energy):
    return tf.math.log(tf.maximum(energy, _FLOOR))


def _mel(frequency):
    return 1127.0 * np.log1p(np.asarray(frequency) / 700.0)


def _mel_weights(sample_rate, fft_length, num_bins, low, high):
    """Triangles on the mel scale, shape (frequencies, bins)."""
    for name, value in (("low_frequency", low), ("high_frequency", high)):
        number_at_least(name, value, 0)
    if not low < high <= sample_rate / 2:
        raise ValueError(
            "Frequencies must satisfy 0 <= `low_frequency` < `high_frequency` "
            f"<= `sample_rate` / 2, received {low}, {high} and a sample rate "
            f"of {sample_rate}; for recordings of telephones, 8000 Hz, pass "
            "high_frequency=3700."
        )
    edges = np.linspace(_mel(low), _mel(high), num_bins + 2)
    left, centre, right = edges[:-2], edges[1:-1], edges[2:]
    frequency = np.arange(fft_length // 2 + 1) * (sample_rate / fft_length)
    mel = _mel(frequency)[:, np.newaxis]
    weights = np.minimum(
        (mel - left) / (centre - left), (right - mel) / (right - centre)
    )
    weights = np.maximum(weights, 0.0)
    weights[-1] = 0.0  # Kaldi leaves out the last frequency.
    empty = np.flatnonzero(weights.sum(axis=0) == 0)
    if empty.size:
        raise ValueError(
            f"`num_mel_bins` is too large for {sample_rate} Hz: bin {empty[0]} "
            f"of {num_bins} contains no frequency of the spectrum; pass fewer "
            "bins."
        )
    return weights.astype(np.float32)


def _lifted_dct(num_bins, num_coefficients):
    """Orthonormal DCT times the lifter, shape (bins, coefficients)."""
    k = np.arange(num_coefficients)
    place = np.arange(num_bins)[:, np.newaxis] + 0.5
    dct = math.sqrt(2.0 / num_bins) * np.cos(np.pi * k * place / num_bins)
    # The log energy replaces c_0, so the norm of c_0 does not matter.
    lifter = 1.0 + _LIFTER / 2 * np.sin(np.pi * k / _LIFTER)
    return tf.constant(dct * lifter, tf.float32)
