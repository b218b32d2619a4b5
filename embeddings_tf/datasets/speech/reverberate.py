"""Adds the reverberation of a room to speech."""

import tensorflow as tf

from embeddings_tf.datasets.speech import checks


def reverberate(waveform, room_response) -> tf.Tensor:
    """Adds the reverberation of a room, given its impulse response.

    Use it to augment training data. The waveform is convolved with the
    response. The result is shifted so that the direct sound (the largest value
    of the response) has no delay, cut to the length of the waveform, and
    scaled to its mean square:

        out_t = a sum_s waveform_(t + peak - s) room_response_s

    Silence stays silence.

    Args:
        waveform: Samples of shape `(samples,)`.
        room_response: Samples of shape `(response_samples,)`, with the sample
            rate of `waveform`.

    Returns:
        `float32` of shape `(samples,)`.

    Raises:
        ValueError: If shapes are not as described. In eager mode also if there
            are no samples, the response is all 0, a sample is NaN or
            infinity, or the result exceeds float32. In a graph, the latter
            raise `tf.errors.InvalidArgumentError` when it runs.

    Reference:

    - [Ko et al., 2017](https://doi.org/10.1109/ICASSP.2017.7953152)

    Example:

    >>> room_response = tf.constant([0.0, 1.0])
    >>> embeddings_tf.datasets.speech.reverberate(
    ...     tf.constant([3.0, 5.0]), room_response
    ... ).numpy().round(3)
    array([3., 5.], dtype=float32)
    """
    waveform = checks.float_tensor("waveform", waveform, (1,), "(samples,)")
    response = checks.float_tensor(
        "room_response", room_response, (1,), "(samples,)"
    )
    for name, value in (("waveform", waveform), ("room_response", response)):
        checks.require_finite(name, value, tf.ones_like(value, tf.bool))
    checks.require(
        tf.size(waveform) > 0,
        "waveform has no samples; remove empty recordings.",
    )
    checks.require(
        tf.reduce_any(tf.not_equal(response, 0.0)),
        "room_response must have a sample that is not 0.",
    )
    # In float64, in which squares of float32 are neither 0 nor infinite.
    waveform = tf.cast(waveform, tf.float64)
    response = tf.cast(response, tf.float64)
    num_samples = tf.size(waveform)
    fft_length = [num_samples + tf.size(response) - 1]
    convolved = tf.signal.irfft(
        tf.signal.rfft(waveform, fft_length)
        * tf.signal.rfft(response, fft_length),
        fft_length,
    )
    peak = tf.argmax(tf.abs(response), output_type=tf.int32)
    # Silence follows the convolution.
    convolved = tf.pad(convolved, [[0, peak]])
    result = tf.ensure_shape(
        convolved[peak : peak + num_samples], waveform.shape
    )
    power = tf.reduce_mean(tf.square(waveform))
    scale = tf.math.divide_no_nan(power, tf.reduce_mean(tf.square(result)))
    return checks.single_precision(result * tf.sqrt(scale))
