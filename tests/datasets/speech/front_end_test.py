"""The whole front end, in `tf.data` and in an exported model."""

import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.datasets import Utterances
from embeddings_tf.datasets import speech


def front_end(waveform, length=None):
    features, num_frames = speech.front_end(waveform, length)
    return speech.repeat_or_crop(features, 50, length=num_frames)


def by_hand(waveform, **arguments):
    """Applies the steps to one recording; NumPy selects the frames."""
    features = speech.mfcc(waveform, **arguments)
    is_speech = speech.energy_vad(features[:, 0]).numpy()
    return speech.subtract_sliding_mean(features).numpy()[is_speech]


def one_by_one(waveforms, lengths):
    rows = [
        speech.repeat_or_crop(by_hand(waveform[:length]), 50)
        for waveform, length in zip(waveforms, lengths, strict=True)
    ]
    return np.array(rows)


def recordings():
    """Speech-like noise with a pause, padded."""
    rng = np.random.default_rng(0)
    waveforms = rng.normal(size=(3, 16000)) * 1000
    waveforms[:, 3000:6000] *= 1e-3
    return waveforms.astype(np.float32), np.array([16000, 9000, 7000], np.int32)


@pytest.mark.slow
def test_in_tf_data():
    waveforms, lengths = recordings()
    dataset = tf.data.Dataset.from_tensor_slices((waveforms, lengths))
    dataset = dataset.batch(3, drop_remainder=True).map(front_end)
    (features,) = dataset
    np.testing.assert_allclose(
        features, one_by_one(waveforms, lengths), rtol=1e-4, atol=1e-3
    )


def exported(function, folder):
    """Saves the function with inputs of any length, and loads it."""
    module = tf.Module()
    module.call = tf.function(
        function,
        input_signature=[
            tf.TensorSpec([None, None], tf.float32),
            tf.TensorSpec([None], tf.int32),
        ],
    )
    tf.saved_model.save(module, folder)
    return tf.saved_model.load(folder).call


def test_in_an_exported_model(tmp_path):
    waveforms, lengths = recordings()
    features = exported(front_end, tmp_path)(
        tf.constant(waveforms), tf.constant(lengths)
    )
    np.testing.assert_allclose(
        features, one_by_one(waveforms, lengths), rtol=1e-4, atol=1e-3
    )


def test_frames_with_speech_alone_and_in_a_batch():
    waveforms, lengths = recordings()
    batch, num_frames = speech.front_end(waveforms, lengths)
    assert batch.shape[1] == max(num_frames)
    for waveform, length, features, count in zip(
        waveforms, lengths, batch.numpy(), num_frames.numpy(), strict=True
    ):
        expected = by_hand(waveform[:length])
        assert count == len(expected) < length // 160
        np.testing.assert_allclose(
            features[:count], expected, rtol=1e-4, atol=1e-3
        )
        assert not features[count:].any()
        alone, count_alone = speech.front_end(waveform[:length])
        assert alone.shape == (count, 30) and count_alone == count
        np.testing.assert_allclose(alone, expected, rtol=1e-4, atol=1e-3)


def test_short_utterances_are_repeated_whole():
    rng = np.random.default_rng(1)
    waveforms = 1000 * rng.normal(size=(3, 4000))
    lengths = [800, 4000, 1600]  # 10, 50 and 20 frames at 8 kHz
    arguments = {
        "sample_rate": 8000,
        "num_coefficients": 23,
        "num_mel_bins": 23,
        "high_frequency": 3700.0,
    }
    batch, num_frames = speech.front_end(
        waveforms, lengths, min_num_frames=25, **arguments
    )
    assert num_frames.numpy().tolist() == [30, 50, 40]
    for row, (length, times) in enumerate(zip(lengths, (3, 1, 2), strict=True)):
        once = by_hand(waveforms[row, :length], **arguments)
        expected = np.concatenate([once] * times)
        np.testing.assert_allclose(
            batch[row, : len(expected)], expected, rtol=1e-4, atol=1e-3
        )
        assert not batch[row, len(expected) :].numpy().any()


def bad_recordings():
    """Waveforms, lengths, and words of the error."""
    good, lengths = recordings()
    silent, holed, quiet = good.copy(), good.copy(), good / 32768
    silent[1] = 0
    beside_silence = good / 32768
    beside_silence[:, :5000] = 0
    holed[2, 100] = np.nan
    return {
        "no samples": (good, [16000, 0, 7000], "too short for a frame"),
        "no padding": (good[:, :0], [0, 0, 0], "too short for a frame"),
        "too short": (good, [79, 9000, 7000], "at least 80 samples at 16000"),
        "too long": (good, [16001, 9000, 7000], "check `length`"),
        "silence": (silent, lengths, "no speech in it, only silence"),
        "in -1..1": (quiet, lengths, "multiply those in -1..1 by 32768"),
        "in -1..1 beside silence": (
            beside_silence * 0.9 / np.abs(beside_silence).max(),
            lengths,
            "multiply those in -1..1 by 32768",
        ),
        "nan": (holed, lengths, "waveform contains NaN or infinity"),
        "no length": (good, lengths[:2], "one entry for each utterance"),
    }


@pytest.mark.parametrize("name", bad_recordings())
def test_bad_recordings(name):
    waveforms, lengths, message = bad_recordings()[name]
    with pytest.raises(ValueError, match=message):
        speech.front_end(waveforms, lengths)


@pytest.mark.slow
def test_bad_recordings_in_an_exported_model(tmp_path):
    features = exported(lambda *inputs: speech.front_end(*inputs)[0], tmp_path)
    for waveforms, lengths, message in bad_recordings().values():
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            features(
                tf.constant(waveforms, tf.float32),
                tf.constant(lengths, tf.int32),
            )


def test_padding_may_be_anything():
    waveforms, lengths = recordings()
    expected, _ = speech.front_end(waveforms, lengths)
    waveforms[1, 9000:] = np.inf
    features, _ = speech.front_end(waveforms, lengths)
    np.testing.assert_array_equal(features, expected)


def test_the_utterance_is_named():
    waveforms, lengths = recordings()
    values = np.concatenate(
        [waveforms[0], np.zeros(500, np.float32), waveforms[2, :7000]]
    )
    x = Utterances(values, [16000, 500, 7000])
    with pytest.raises(ValueError, match="Utterance 1: .*only silence"):
        x.map(lambda waveform: speech.front_end(waveform)[0])


@pytest.mark.parametrize("value", [0, 2.5])
def test_bad_arguments(value):
    waveforms, lengths = recordings()
    with pytest.raises(ValueError, match="`min_num_frames` must be an integer"):
        speech.front_end(waveforms, lengths, min_num_frames=value)
    with pytest.raises(ValueError, match="high_frequency=3700"):
        speech.front_end(waveforms, lengths, sample_rate=8000)
