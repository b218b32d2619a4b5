import numpy as np
import pytest

from embeddings_tf.datasets import Utterances
from embeddings_tf.datasets.speech import augment


def recordings(lengths, seed, sample_rate=None):
    values = 1000 * np.random.default_rng(seed).normal(size=sum(lengths))
    return Utterances(values, lengths, sample_rate=sample_rate)


X = recordings([400, 150, 300], seed=0)


def ratio(waveform, copy):
    """Signal-to-noise ratio in dB of a copy."""
    noise = copy - waveform
    return 10 * np.log10(np.mean(waveform**2) / np.mean(noise**2))


@pytest.mark.slow
def test_one_source_at_a_ratio_in_the_range():
    noise = recordings([100, 1000], seed=1)
    ratios = []
    for seed in range(20):
        copy = augment(X, noise, snr=(3.0, 9.0), seed=seed)
        assert copy.lengths.tolist() == X.lengths.tolist()
        for number in range(3):
            assert copy[number].dtype == np.float32
            np.testing.assert_array_equal(copy[number], copy[number])
            ratios.append(ratio(X[number], copy[number]))
    assert 3 - 1e-3 < min(ratios) < 4 and 8 < max(ratios) < 9 + 1e-3


def test_the_noise_is_one_of_the_sources():
    noise = recordings([100, 80], seed=1)
    copy = augment(X, noise, snr=(0.0, 0.0), seed=3)
    for number in range(3):
        waveform = X[number]
        errors = []
        for source in noise:
            whole = np.resize(source, len(waveform))
            whole *= np.sqrt(np.mean(waveform**2) / np.mean(whole**2))
            errors.append(np.abs(copy[number] - waveform - whole).max())
        assert min(errors) < 0.01 < max(errors)


def test_babble_comes_from_other_speakers():
    # Tones of different frequencies, for one second.
    time = np.arange(1000) / 1000
    tones = [np.sin(2 * np.pi * hertz * time) for hertz in (50, 100, 150, 200)]
    x = Utterances(1000 * np.concatenate(tones), [1000] * 4)
    for number, copy in enumerate(augment(x, x, num_sources=(2, 3), seed=2)):
        strength = np.abs(np.fft.rfft(copy))[[50, 100, 150, 200]] / 500_000
        assert strength[number] == pytest.approx(1, abs=1e-3)
        assert 2 <= sum(np.delete(strength, number) > 0.01) <= 3


def test_room():
    responses = np.zeros(30)
    responses[[10, 25]] = 1, 0.5
    rooms = Utterances(responses, [30])
    copy = augment(X, room_responses=rooms)
    for number in range(3):
        waveform = X[number]
        expected = np.convolve(waveform, responses)[10:][: len(waveform)]
        expected *= np.sqrt(np.mean(waveform**2) / np.mean(expected**2))
        np.testing.assert_allclose(copy[number], expected, rtol=1e-3, atol=1)


def test_rooms_and_noise_differ_between_recordings():
    lengths = [200] * 30
    x = recordings(lengths, seed=0)
    rooms = Utterances(np.array([1.0, 0.0, 2.0]), [1, 2])  # without echo
    noisy = augment(x, recordings([50], seed=1), rooms, snr=(0.0, 30.0))
    ratios = [ratio(x[number], noisy[number]) for number in range(30)]
    assert np.ptp(ratios) > 5


def test_a_long_noise_is_cropped_at_different_places():
    x = Utterances(np.tile(np.sin(np.arange(200.0)), 9), [200] * 9)
    noise = recordings([100_000], seed=1)
    noisy = augment(x, noise, snr=(0.0, 0.0), seed=4)
    added = np.array([noisy[number] - x[number] for number in range(9)])
    correlation = np.corrcoef(added) - np.eye(9)
    assert np.abs(correlation).max() < 0.5
    np.testing.assert_array_equal(noisy[3], noisy[3])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Pass `noise`"),
        ({"noise": X, "snr": (5.0, 1.0)}, "`snr` must be the least and"),
        ({"noise": X, "snr": (0.0, np.nan)}, "`snr` must be"),
        ({"noise": X, "num_sources": (0, 1)}, "`num_sources` must be an int"),
        ({"noise": X, "num_sources": (2, 1)}, "`num_sources` must be the"),
        ({"noise": X, "num_sources": (1, 3)}, "for 3 recordings"),
        ({"noise": X.take([])}, "`noise` has no recordings"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        augment(X, **arguments)


def test_another_sample_rate():
    x = recordings([100], seed=0, sample_rate=8000)
    rooms = recordings([100], seed=1, sample_rate=16000)
    message = (
        "`room_responses` has 16000 samples per second, the recordings 8000"
    )
    with pytest.raises(ValueError, match=message):
        augment(x, room_responses=rooms)


def test_nan():
    x = Utterances(np.array([1.0, np.nan, 2.0]), [1, 2])
    copy = augment(x, x)
    with pytest.raises(ValueError, match="contains NaN or infinity"):
        copy[1]


def test_loud_recordings():
    loud = Utterances(np.full(10, 1e25, "float32"), [6, 4])
    copy = augment(loud, loud, snr=(0.0, 0.0))
    np.testing.assert_allclose(copy[1], np.full(4, 2e25), rtol=1e-6)
