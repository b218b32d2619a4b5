"""Fused batch normalisation beside the layer of Keras."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.models.fused_batch_normalization import (
    FusedBatchNormalization,
)

X = np.random.default_rng(0).normal(2, 3, (5, 4, 3, 2)).astype("float32")


def trained(layer_cls, **arguments):
    """Output, gradients and all weights after one call in training."""
    layer = layer_cls(momentum=0.9, **arguments)
    layer.build(X.shape)
    layer.gamma.assign([1.5, -0.5])
    layer.beta.assign([0.25, -1.0])
    x = tf.constant(X)
    weights = np.random.default_rng(1).normal(size=X.shape)
    with tf.GradientTape() as tape:
        tape.watch(x)
        output = layer(x, training=True)
        loss = tf.reduce_sum(tf.cast(output, tf.float32) * weights)
    gradients = tape.gradient(loss, [x, layer.gamma.value, layer.beta.value])
    return output, gradients, layer.get_weights(), layer(x)


def test_trains_like_keras():
    expected = trained(keras.layers.BatchNormalization)
    found = trained(FusedBatchNormalization)
    for mine, theirs in zip(
        tf.nest.flatten(found), tf.nest.flatten(expected), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def test_statistics_by_hand():
    """The moving variance is the plain one, without Bessel's correction."""
    mean, variance = trained(FusedBatchNormalization)[2][2:]
    axes = (0, 1, 2)
    np.testing.assert_allclose(mean, 0.1 * X.mean(axes), rtol=1e-5)
    expected = 0.9 + 0.1 * X.var(axes)
    np.testing.assert_allclose(variance, expected, rtol=1e-5)


def test_half_precision():
    output, *_ = trained(FusedBatchNormalization, dtype="mixed_float16")
    expected, *_ = trained(keras.layers.BatchNormalization)
    assert output.dtype == tf.float16
    np.testing.assert_allclose(output, expected, atol=0.01)


@pytest.mark.parametrize(
    ("arguments", "mask"),
    [({"axis": 1}, None), ({"scale": False}, None), ({"center": False}, None)]
    + [({}, np.arange(60).reshape(5, 4, 3) % 3 > 0)],
    ids=["another axis", "no scale", "no centre", "a mask"],
)
def test_other_arguments_train_like_keras(arguments, mask):
    x = X[..., :2].repeat(2, axis=-1)  # as many channels as rows
    found, expected = (
        layer(**arguments)(x, training=True, mask=mask)
        for layer in (FusedBatchNormalization, keras.layers.BatchNormalization)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("way", ["frozen", "synchronized"])
def test_keras_computes_unsupported_cases(way, monkeypatch):
    layer = FusedBatchNormalization(synchronized=way == "synchronized")
    layer.trainable = way != "frozen"

    def kernel(**_):
        raise AssertionError

    monkeypatch.setattr(tf.raw_ops, "FusedBatchNormV3", kernel)
    ordinary = keras.layers.BatchNormalization(synchronized=layer.synchronized)
    ordinary.trainable = layer.trainable
    found, expected = (x(X, training=True) for x in (layer, ordinary))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_saved_and_loaded(tmp_path):
    model = keras.Sequential([keras.Input((4, 3, 2))])
    model.add(FusedBatchNormalization(momentum=0.5))
    model(X, training=True)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded.layers[-1]) is FusedBatchNormalization
    np.testing.assert_array_equal(
        loaded.predict(X, verbose=0), model.predict(X, verbose=0)
    )
