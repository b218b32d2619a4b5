import math

import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.datasets.speech import count_frames
from embeddings_tf.datasets.speech import mfcc

TELEPHONE = {
    "sample_rate": 8000,
    "num_coefficients": 23,
    "num_mel_bins": 23,
    "high_frequency": 3700.0,
}


def noise(num_samples, seed=0):
    """Noise with stronger low frequencies, and an offset."""
    steps = 1000 * np.random.default_rng(seed).normal(size=num_samples)
    for i in range(1, num_samples):
        steps[i] += 0.9 * steps[i - 1]
    return steps + 500


def kaldi_mfcc(
    waveform,
    sample_rate=16000,
    num_coefficients=30,
    num_mel_bins=30,
    low_frequency=20.0,
    high_frequency=7600.0,
    snip_edges=False,
):
    """Kaldi's definition, frame by frame and sample by sample."""
    window = int(sample_rate * 0.001 * 25)
    shift = int(sample_rate * 0.001 * 10)
    n = len(waveform)
    starts = []
    if snip_edges:
        start = 0
        while start + window <= n:
            starts.append(start)
            start += shift
    else:
        for frame in range((n + shift // 2) // shift):
            starts.append(frame * shift + shift // 2 - window // 2)
    fft_length = 1
    while fft_length < window:
        fft_length *= 2

    def mel(frequency):
        return 1127.0 * math.log(1.0 + frequency / 700.0)

    lowest, highest = mel(low_frequency), mel(high_frequency)
    step = (highest - lowest) / (num_mel_bins + 1)
    rows = []
    for start in starts:
        x = []
        for s in range(start, start + window):
            while s < 0 or s >= n:
                s = -s - 1 if s < 0 else 2 * n - 1 - s
            x.append(float(waveform[s]))
        mean = sum(x) / window
        x = [value - mean for value in x]
        log_energy = math.log(max(sum(v * v for v in x), 2.0**-23))
        for i in range(window - 1, 0, -1):
            x[i] -= 0.97 * x[i - 1]
        x[0] -= 0.97 * x[0]
        for i in range(window):
            x[i] *= 0.54 - 0.46 * math.cos(2 * math.pi * i / (window - 1))
        power = np.abs(np.fft.fft(x, fft_length)) ** 2
        logs = []
        for b in range(num_mel_bins):
            left = lowest + b * step
            centre, right = left + step, left + 2 * step
            energy = 0.0
            for k in range(fft_length // 2):
                at = mel(k * sample_rate / fft_length)
                if left < at <= centre:
                    energy += power[k] * (at - left) / step
                elif centre < at < right:
                    energy += power[k] * (right - at) / step
            logs.append(math.log(max(energy, 2.0**-23)))
        row = [log_energy]
        for k in range(1, num_coefficients):
            total = sum(
                value * math.cos(math.pi * k * (b + 0.5) / num_mel_bins)
                for b, value in enumerate(logs)
            )
            lifter = 1 + 0.5 * 22 * math.sin(math.pi * k / 22)
            row.append(lifter * math.sqrt(2 / num_mel_bins) * total)
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("options", [{}, {"snip_edges": True}, TELEPHONE])
def test_equals_the_definition_of_kaldi(options):
    waveform = noise(1234)
    np.testing.assert_allclose(
        mfcc(waveform, **options),
        kaldi_mfcc(waveform, **options),
        rtol=1e-4,
        atol=5e-3,
    )


def test_recording_shorter_than_half_a_window_is_mirrored_twice():
    waveform = noise(85)
    np.testing.assert_allclose(
        mfcc(waveform), kaldi_mfcc(waveform), rtol=1e-4, atol=5e-3
    )


def test_padding_has_no_influence():
    batch = np.full((2, 1000), np.nan)
    batch[0] = noise(1000)
    batch[1, :497] = noise(497, seed=1)
    features = mfcc(batch, [1000, 497]).numpy()
    num_frames = count_frames([1000, 497]).numpy()
    for i, length in enumerate([1000, 497]):
        alone = mfcc(batch[i, :length]).numpy()
        assert len(alone) == num_frames[i]
        np.testing.assert_allclose(
            features[i, : len(alone)], alone, rtol=1e-5, atol=1e-4
        )
        assert not features[i, len(alone) :].any()


def test_integers_and_floats_agree():
    waveform = noise(400).astype(np.int16)
    np.testing.assert_array_equal(
        mfcc(waveform), mfcc(waveform.astype(np.float64))
    )


def test_silence_is_finite():
    features = mfcc(np.zeros(800)).numpy()
    # All triangles are at the floor, and a constant has no cosine part.
    np.testing.assert_allclose(features[:, 0], -23 * math.log(2), rtol=1e-6)
    np.testing.assert_allclose(features[:, 1:], 0, atol=1e-3)


@pytest.mark.parametrize(
    ("waveform", "options", "message"),
    [
        (np.zeros(0), {}, "at least 80 samples at 16000 Hz"),
        (np.zeros(79), {}, "at least 80 samples"),
        (np.zeros(399), {"snip_edges": True}, "at least 400 samples"),
        ([1.0] * 200 + [np.nan], {}, "NaN or infinity"),
        ([1.0] * 200 + [np.inf], {}, "NaN or infinity"),
        (np.zeros(800), {"sample_rate": 8000}, "high_frequency=3700"),
        (np.zeros(800), {"sample_rate": 16}, "at least 400"),
        (np.zeros(800), {"low_frequency": 7600.0}, "received 7600.0, 7600.0"),
        (np.zeros(800), {"num_coefficients": 31}, "received 31 and 30"),
        (np.zeros(800), {"num_mel_bins": 300}, "too large for 16000 Hz"),
        (np.zeros(800), {"length": [900]}, "check `length`"),
        (np.zeros(800), {"length": [800, 800]}, "one entry for each"),
        (np.zeros(800), {"length": 800.0}, "length must be integers"),
        (np.zeros((1, 1, 800)), {}, "waveform must have shape"),
        (np.zeros(800, bool), {}, "waveform must be numbers"),
    ],
)
def test_bad_input(waveform, options, message):
    with pytest.raises(ValueError, match=message):
        mfcc(waveform, **options)


@pytest.mark.parametrize("bad", [np.zeros(0), np.full(800, np.nan)])
def test_bad_values_in_a_graph(bad):
    graph = tf.function(mfcc).get_concrete_function(
        tf.TensorSpec([None], tf.float32)
    )
    assert graph(tf.zeros(800)).shape == (5, 30)
    with pytest.raises(tf.errors.InvalidArgumentError):
        graph(tf.constant(bad, tf.float32))
