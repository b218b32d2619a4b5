import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.datasets.speech import add_noise


def decibels(signal, noise):
    return 10 * np.log10(np.mean(signal**2) / np.mean(noise**2))


@pytest.mark.parametrize("num_samples", [30, 1000, 5000])
@pytest.mark.parametrize("seed", [None, (1, 2)])
def test_signal_to_noise_ratio(num_samples, seed):
    rng = np.random.default_rng(0)
    speech = 1000 * rng.normal(size=1000)
    noise = rng.normal(size=num_samples)
    added = add_noise(speech, noise, 7.5, seed).numpy() - speech
    assert decibels(speech, added) == pytest.approx(7.5, abs=1e-3)
    # The difference is a piece of the noise, or its repetition, scaled.
    repeated = np.resize(noise, max(1000, num_samples))
    pieces = np.lib.stride_tricks.sliding_window_view(repeated, 1000)
    norms = np.linalg.norm(pieces, axis=1) * np.linalg.norm(added)
    assert (pieces @ added / norms).max() == pytest.approx(1, abs=1e-4)


def test_babble_is_the_sum_of_its_speakers():
    rng = np.random.default_rng(0)
    speech = rng.normal(size=500)
    babble = rng.normal(size=(3, 700))
    snr = [20.0, 17.0, 13.0]
    expected = speech.copy()
    for source, ratio in zip(babble, snr, strict=True):
        expected += add_noise(speech, source, ratio) - speech
    np.testing.assert_allclose(
        add_noise(speech, babble, snr), expected, atol=1e-5
    )
    together = add_noise(speech, babble, 20.0).numpy() - speech
    assert decibels(speech, together) < 20


def test_silence():
    speech = np.array([1.0, -2.0, 3.0])
    np.testing.assert_array_equal(add_noise(speech, np.zeros(5), 0), speech)
    assert not add_noise(np.zeros(3), speech, 0).numpy().any()


@pytest.mark.parametrize(
    ("speech", "noise", "snr", "message"),
    [
        ([], [1.0], 0, "no samples"),
        ([1.0], [], 0, "at least 1"),
        ([np.nan], [1.0], 0, "waveform contains NaN"),
        ([1.0], [np.inf], 0, "noise contains NaN"),
        ([1.0], [1.0], np.nan, "snr contains NaN"),
        ([[1.0]], [1.0], 0, "waveform must have shape"),
        ([1.0], [[1.0], [2.0]], [1.0, 2.0, 3.0], "one for each source"),
    ],
)
def test_bad_input(speech, noise, snr, message):
    with pytest.raises(ValueError, match=message):
        add_noise(speech, noise, snr)


@pytest.mark.parametrize("size", [1e-24, 1.0, 1e20])
@pytest.mark.parametrize("noise_size", [1e-24, 1.0, 1e20])
def test_samples_of_any_size(size, noise_size):
    """The squares of these samples are beyond the range of float32."""
    found = add_noise(np.full(4, size), np.full(4, noise_size), 20.0)
    np.testing.assert_allclose(found, np.full(4, 1.1 * size), rtol=1e-5)


def test_a_result_beyond_float32_is_refused():
    loud, noise = np.full(4, 3e38, "float32"), np.ones(4, "float32")
    with pytest.raises(ValueError, match="exceeds .*scale the waveform down"):
        add_noise(loud, noise, 0.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="exceeds"):
        tf.function(add_noise)(loud, noise, 0.0)
