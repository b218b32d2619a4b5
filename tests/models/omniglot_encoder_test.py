"""Tests of the Omniglot encoder."""

import keras
import numpy as np
import pytest

from embeddings_tf.models import has_gaussian_output
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


def test_number_of_filters():
    encoder = omniglot_encoder(20, num_filters=7)
    blocks = (9 * 1 + 1 + 4) * 7 + 2 * (9 * 7 + 1 + 4) * 7
    assert encoder.count_params() == blocks + (9 * 7 + 1) * 20
    with pytest.raises(ValueError, match="num_filters"):
        omniglot_encoder(20, num_filters=0)


def test_biases_of_means_and_of_normalised_blocks_change_no_distance():
    """Only the bias of the last block's variances can change training."""
    x = np.random.default_rng(0).integers(0, 256, (6, 28, 28, 1), "uint8")
    encoder = omniglot_encoder(
        3, image_shape=(28, 28, 1), dark_ink=False, gaussian=True
    )

    def training_outputs():
        mean, variance = np.split(encoder(x, training=True).numpy(), 2, -1)
        return mean - mean[:1], variance

    before = training_outputs()
    *normalised, last = [
        layer
        for layer in encoder.layers
        if isinstance(layer, keras.layers.Conv2D)
    ]
    for layer in normalised:
        layer.bias.assign(np.linspace(-1, 1, 64))
    last.bias.assign([1, -2, 3, 0, 0, 0])
    after = training_outputs()
    for found, expected in zip(after, before, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


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


def test_the_published_network_of_gaussians():
    encoder = omniglot_encoder(
        2,
        gaussian=True,
        image_shape=(28, 28, 1),
        dark_ink=False,
        uniform_biases=True,
        fused=True,
    )
    assert encoder.output_shape == (None, 4)
    assert has_gaussian_output(encoder)
    # Nothing but the four blocks has weights, and nothing is resized.
    blocks = (9 * 1 + 1 + 4) * 64 + 2 * (9 * 64 + 1 + 4) * 64
    assert encoder.count_params() == blocks + (9 * 64 + 1) * 2 * 2
    kinds = [type(layer) for layer in encoder.layers]
    assert keras.layers.Resizing not in kinds
    x = np.random.default_rng(0).integers(0, 256, (5, 28, 28, 1), "uint8")
    last = keras.Model(
        encoder.input, encoder.get_layer("embedding").input
    ).predict(x, verbose=0)
    found = encoder.predict(x, verbose=0)
    np.testing.assert_allclose(found[:, :2], last[:, :2], rtol=1e-5)
    variance = np.log1p(np.exp(last[:, 2:])) + 1e-8
    np.testing.assert_allclose(found[:, 2:], variance, rtol=1e-5)


def test_uniform_biases():
    keras.utils.set_random_seed(0)
    encoder = omniglot_encoder(64, uniform_biases=True)
    plain = omniglot_encoder(64)
    for made, inputs in zip((encoder, plain), (1, 1), strict=True):
        for layer in made.layers:
            if not isinstance(layer, keras.layers.Conv2D):
                continue
            bound = 1 / np.sqrt(9 * inputs)
            inputs = 64
            bias = layer.bias.numpy()
            assert np.abs(bias).max() <= bound
            spread = bound / np.sqrt(3) if made is encoder else 0
            np.testing.assert_allclose(bias.std(), spread, rtol=0.2)


def test_images_of_28_pixels_are_not_resized():
    """Resizing them would change nothing, in any bit."""
    x = np.random.default_rng(0).random((3, 28, 28, 1), "float32")
    resized = keras.layers.Resizing(28, 28, antialias=True)(x)
    np.testing.assert_array_equal(resized, x)
