"""Adds noise, music or babble to speech."""

import tensorflow as tf

from embeddings_tf.datasets.speech import checks
from embeddings_tf.datasets.speech.repeat_or_crop import repeat_or_crop

# Far beyond the digits of float32: one of the two parts is lost.
_LARGEST_RATIO = 200


def add_noise(waveform, noise, snr, seed=None) -> tf.Tensor:
    """Adds noise, music or babble at a signal-to-noise ratio.

    Use it to augment training data. One source is noise or music. Several
    sources, for instance three to seven other speakers, are babble.
    `repeat_or_crop` gives each source i the length of the waveform. Then

        out = waveform + sum_i noise_i sqrt(P(waveform) / P(noise_i)
                                            / 10^(snr_i / 10))

    where P is the mean square. A silent source adds nothing, and a silent
    waveform stays silent.

    Args:
        waveform: Samples of shape `(samples,)`.
        noise: Samples of shape `(noise_samples,)`, or `(sources,
            noise_samples)`, with the sample rate of `waveform`.
        snr: Signal-to-noise ratio in dB, a scalar or of shape `(sources,)`.
        seed: Integers of shape `(2,)`. If given, a noise longer than the
            waveform is cropped at random, as a pure function of the seed;
            otherwise its middle is used.

    Returns:
        `float32` of shape `(samples,)`.

    Raises:
        ValueError: If shapes are not as described. In eager mode also if a
            waveform is empty or contains NaN or infinity, `snr` is not from
            -200 to 200, or the result exceeds float32. In a graph, these raise
            `tf.errors.InvalidArgumentError` when it runs.

    Reference:

    - [Snyder et al., 2018](https://doi.org/10.1109/ICASSP.2018.8461375)

    Example:

    >>> speech = tf.constant([2.0, -2.0, 2.0, -2.0])
    >>> noise = tf.constant([5.0])
    >>> embeddings_tf.datasets.speech.add_noise(speech, noise, 0.0).numpy()
    array([4., 0., 4., 0.], dtype=float32)
    """
    waveform = checks.float_tensor("waveform", waveform, (1,), "(samples,)")
    noise = checks.float_tensor(
        "noise", noise, (1, 2), "(samples,) or (sources, samples)"
    )
    snr = checks.float_tensor("snr", snr, (0, 1), "() or (sources,)")
    sources = noise[tf.newaxis] if noise.shape.rank == 1 else noise
    if not (
        snr.shape.rank == 0 or snr.shape.is_compatible_with(sources.shape[:1])
    ):
        raise ValueError(
            "snr must be one number, or one for each source of noise; received "
            f"shape {snr.shape} for noise of shape {noise.shape}."
        )
    for name, value in (
        ("waveform", waveform),
        ("noise", sources),
        ("snr", snr),
    ):
        checks.require_finite(name, value, tf.ones_like(value, tf.bool))
    checks.require(
        tf.size(waveform) > 0,
        "waveform has no samples; remove empty recordings.",
    )
    checks.require(
        tf.reduce_all(tf.abs(snr) <= _LARGEST_RATIO),
        f"snr must be in dB, -{_LARGEST_RATIO} to {_LARGEST_RATIO}.",
    )
    sources = repeat_or_crop(sources[..., tf.newaxis], tf.size(waveform), seed)[
        ..., 0
    ]
    # In float64, in which squares of float32 are neither 0 nor infinite.
    waveform = tf.cast(waveform, tf.float64)
    sources = tf.cast(sources, tf.float64)
    power = tf.reduce_mean(tf.square(waveform))
    noise_power = tf.reduce_mean(tf.square(sources), axis=1)
    ratio = tf.cast(snr, tf.float64) / 10.0
    wanted = power * tf.pow(tf.constant(10.0, tf.float64), -ratio)
    scale = tf.sqrt(tf.math.divide_no_nan(wanted, noise_power))
    added = tf.reduce_sum(scale[:, tf.newaxis] * sources, axis=0)
    return checks.single_precision(waveform + added)
