import keras
import numpy as np
import pytest

from embeddings_tf.models import n_digit_encoder


@pytest.mark.parametrize(
    ("image_shape", "pooled"),
    [((28, 56, 1), 7 * 14), ((8, 16, 1), 2 * 4), ((8, 24, 1), 2 * 6)],
)
@pytest.mark.parametrize("gaussian", [True, False])
def test_number_of_weights(image_shape, pooled, gaussian):
    encoder = n_digit_encoder(3, gaussian=gaussian, image_shape=image_shape)
    width = 6 if gaussian else 3
    assert encoder.output_shape == (None, width)
    assert encoder.count_params() == (
        (25 + 1) * 6
        + (25 * 6 + 1) * 16
        + (pooled * 16 + 1) * 120
        + (120 + 1) * width
    )


def test_default_is_two_mnist_digits():
    assert n_digit_encoder(2).input_shape == (None, 28, 56, 1)


def test_pixels_are_scaled_inside():
    """The first layer receives 0 to 1 for pixels of 0 to 255."""
    encoder = n_digit_encoder(2, image_shape=(8, 16, 1))
    first = keras.Model(encoder.input, encoder.layers[2].output)
    x = np.full((1, 8, 16, 1), 255, "float32")
    np.testing.assert_allclose(first(x), np.ones_like(x), rtol=1e-6)


def test_initial_variance():
    """The variance of an image that activates no unit."""
    encoder = n_digit_encoder(2, image_shape=(8, 16, 1), initial_variance=0.05)
    packed = encoder(np.zeros((1, 8, 16, 1), "float32"))
    np.testing.assert_allclose(packed, [[0, 0, 0.05, 0.05]], rtol=1e-5)
