"""The whole front end, in `tf.data` and in an exported model."""

import numpy as np
import tensorflow as tf

from embeddings_tf.datasets import speech


def front_end(waveform, length=None):
    features = speech.mfcc(waveform, length)
    num_frames = speech.count_frames(length)
    is_speech = speech.energy_vad(features[..., 0], num_frames)
    features = speech.subtract_sliding_mean(features, num_frames)
    features, num_frames = speech.keep_frames(features, is_speech)
    return speech.repeat_or_crop(features, 50, length=num_frames)


def one_by_one(waveforms, lengths):
    rows = []
    for waveform, length in zip(waveforms, lengths, strict=True):
        features = speech.mfcc(waveform[:length])
        is_speech = speech.energy_vad(features[:, 0]).numpy()
        features = speech.subtract_sliding_mean(features).numpy()[is_speech]
        rows.append(speech.repeat_or_crop(features, 50))
    return np.array(rows)


def recordings():
    """Speech-like noise with a pause, padded."""
    rng = np.random.default_rng(0)
    waveforms = rng.normal(size=(3, 16000)) * 1000
    waveforms[:, 3000:6000] *= 1e-3
    return waveforms.astype(np.float32), np.array([16000, 9000, 7000], np.int32)


def test_in_tf_data():
    waveforms, lengths = recordings()
    dataset = tf.data.Dataset.from_tensor_slices((waveforms, lengths))
    dataset = dataset.batch(3, drop_remainder=True).map(front_end)
    assert dataset.element_spec.shape == (3, 50, 30)
    (features,) = dataset
    np.testing.assert_allclose(
        features, one_by_one(waveforms, lengths), rtol=1e-4, atol=1e-3
    )


def test_in_an_exported_model(tmp_path):
    module = tf.Module()
    module.features = tf.function(
        front_end,
        input_signature=[
            tf.TensorSpec([None, None], tf.float32),
            tf.TensorSpec([None], tf.int32),
        ],
    )
    tf.saved_model.save(module, tmp_path)
    waveforms, lengths = recordings()
    features = tf.saved_model.load(tmp_path).features(
        tf.constant(waveforms), tf.constant(lengths)
    )
    np.testing.assert_allclose(
        features, one_by_one(waveforms, lengths), rtol=1e-4, atol=1e-3
    )
