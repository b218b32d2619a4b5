import numpy as np
import pytest

from embeddings_tf.datasets.speech import energy_vad
from embeddings_tf.datasets.speech import mfcc


def loop(energy, threshold=5.5, mean_scale=0.5, context=2, proportion=0.12):
    """Kaldi's decision, frame by frame."""
    limit = threshold + mean_scale * energy.mean()
    result = []
    for t in range(len(energy)):
        near = [
            energy[s] > limit
            for s in range(t - context, t + context + 1)
            if 0 <= s < len(energy)
        ]
        result.append(sum(near) >= proportion * len(near))
    return np.array(result)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"context": 0},
        {"threshold": 7.0, "proportion": 0.6},
        {"mean_scale": 0.0, "threshold": 11.0, "context": 30},
        {"proportion": 0.0},
    ],
)
def test_equals_a_loop(options):
    energy = np.random.default_rng(0).normal(10, 4, size=60)
    expected = loop(energy, **options)
    np.testing.assert_array_equal(energy_vad(energy, **options), expected)


def test_padding_has_no_influence():
    energy = np.random.default_rng(0).normal(10, 4, size=(3, 20))
    energy[1, 9:] = np.nan
    found = energy_vad(energy, [20, 9, 0]).numpy()
    np.testing.assert_array_equal(found[0], loop(energy[0]))
    np.testing.assert_array_equal(found[1, :9], loop(energy[1, :9]))
    assert not found[1, 9:].any() and not found[2].any()


def test_silence_has_no_speech_and_sound_has():
    waveform = np.zeros(16000)
    assert not energy_vad(mfcc(waveform)[:, 0]).numpy().any()
    waveform[8000:] = 1000 * np.random.default_rng(0).normal(size=8000)
    is_speech = energy_vad(mfcc(waveform)[:, 0]).numpy()
    # Two frames before the first window with sound.
    assert not is_speech[:46].any() and is_speech[50:].all()


@pytest.mark.parametrize(
    ("energy", "options", "message"),
    [
        (np.zeros((1, 1, 1)), {}, "log_energy must have shape"),
        ([np.nan], {}, "NaN or infinity"),
        ([1.0], {"proportion": 1.5}, "at most 1"),
        ([1.0], {"context": 1.5}, "whole number"),
        ([1.0], {"context": -1}, "at least 0"),
        ([1.0], {"mean_scale": -1.0}, "at least 0"),
    ],
)
def test_bad_input(energy, options, message):
    with pytest.raises(ValueError, match=message):
        energy_vad(energy, **options)
