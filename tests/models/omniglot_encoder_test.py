"""Tests of the Omniglot encoder."""

import keras
import numpy as np

from embeddings_tf.models import omniglot_encoder


def scans():
    rng = np.random.default_rng(0)
    ink = rng.uniform(size=(4, 105, 105, 1)) < 0.1
    return np.repeat(np.where(ink, 0, 255), 3, axis=-1).astype("uint8")


def test_shape_and_parameters():
    encoder = omniglot_encoder(20)
    assert encoder.output_shape == (None, 20)
    # Kernel, bias, and of the batch normalisation 4 vectors.
    blocks = (9 * 1 + 1 + 4) * 64 + 2 * (9 * 64 + 1 + 4) * 64
    assert encoder.count_params() == blocks + (9 * 64 + 1) * 20


def test_paper_is_zero_and_ink_is_one():
    encoder = omniglot_encoder(3)
    resize = next(
        layer
        for layer in encoder.layers
        if isinstance(layer, keras.layers.Resizing)
    )
    ink = keras.Model(encoder.input, resize.output)
    white = np.full((1, 105, 105, 3), 255, "uint8")
    np.testing.assert_allclose(ink(white), 0, atol=1e-6)
    np.testing.assert_allclose(ink(0 * white), 1, atol=1e-6)
    found = ink(scans()).numpy()
    assert found.shape == (4, 28, 28, 1)
    # Resizing by antialiasing keeps the amount of ink.
    np.testing.assert_allclose(found.mean(), (scans() == 0).mean(), rtol=0.02)


def test_light_ink_on_dark_is_its_negative():
    negative = 255 - scans()
    models = [omniglot_encoder(3), omniglot_encoder(3, dark_ink=False)]
    models[1].set_weights(models[0].get_weights())
    np.testing.assert_allclose(
        models[1](negative), models[0](scans()), rtol=1e-4, atol=1e-5
    )


def test_saved_and_loaded(tmp_path):
    encoder = omniglot_encoder(3)
    encoder.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    np.testing.assert_allclose(
        loaded.predict(scans(), verbose=0),
        encoder.predict(scans(), verbose=0),
        rtol=1e-6,
        atol=1e-6,
    )
