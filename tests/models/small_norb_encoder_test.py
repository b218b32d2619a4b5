import keras
import numpy as np

from embeddings_tf.models import small_norb_encoder


def images():
    rng = np.random.default_rng(0)
    return rng.integers(256, size=(2, 96, 96, 1)).astype("uint8")


def test_shapes_as_published():
    encoder = small_norb_encoder()
    assert encoder.input_shape == (None, 96, 96, 1)
    assert encoder.output_shape == (None, 20)
    maps = [
        layer.output.shape[1:]
        for layer in encoder.layers
        if isinstance(layer, keras.layers.Conv2D)
    ]
    assert maps == [(45, 45, 48), (22, 22, 64), (10, 10, 72)]
    assert encoder.count_params() == (
        (49 + 1) * 48 + (9 * 48 + 1) * 64 + (9 * 64 + 1) * 72 + (7200 + 1) * 20
    )


def test_pixels_are_scaled_inside():
    """The first layer receives 0 to 1 for pixels of 0 to 255."""
    encoder = small_norb_encoder()
    first = keras.Model(encoder.input, encoder.layers[2].output)
    x = np.full((1, 96, 96, 1), 255, "uint8")
    np.testing.assert_allclose(first(x), np.ones_like(x), rtol=1e-6)


def test_initial_biases():
    encoder = small_norb_encoder(400)
    *hidden, head = [layer for layer in encoder.layers if layer.weights]
    for layer in hidden:
        np.testing.assert_allclose(layer.bias, 0.01, rtol=1e-6)
    limit = np.sqrt(6 / (2 * np.sqrt(400)))
    largest = np.abs(head.bias).max()
    assert 0.95 * limit < largest <= limit
    # Uniform; the tolerance is five standard deviations of a mean.
    assert abs(np.mean(head.bias)) < 5 * limit / np.sqrt(3 * 400)


def test_save_and_load(tmp_path):
    encoder = small_norb_encoder(3)
    encoder.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    np.testing.assert_array_equal(loaded(images()), encoder(images()))
