"""Tests of the encoder of one's own images."""

import keras
import numpy as np
import pytest

from embeddings_tf.models import has_gaussian_output
from embeddings_tf.models import image_encoder


@pytest.mark.parametrize(
    ("image_shape", "blocks", "pixels"),
    [
        ((84, 84, 3), 4, 5 * 5),
        ((16, 40, 3), 4, 1 * 2),
        ((8, 8, 3), 3, 1),
        ((5, 9, 3), 2, 1 * 2),
        ((1, 1, 3), 0, 1),
    ],
)
def test_blocks_and_parameters(image_shape, blocks, pixels):
    encoder = image_encoder(2, image_shape=image_shape, num_filters=8)
    assert encoder.input_shape == (None, *image_shape)
    assert encoder.output_shape == (None, 2)
    # Kernel, bias, and of the batch normalisation 4 vectors.
    first = (9 * 3 + 1 + 4) * 8 if blocks else 0
    others = max(blocks - 1, 0) * (9 * 8 + 1 + 4) * 8
    width = pixels * (8 if blocks else 3)
    assert encoder.count_params() == first + others + (width + 1) * 2


def test_gaussian(tmp_path):
    encoder = image_encoder(
        3, image_shape=(8, 8, 1), gaussian=True, initial_variance=0.05
    )
    assert has_gaussian_output(encoder) and encoder.output_shape == (None, 6)
    encoder.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    x = np.random.default_rng(0).integers(0, 256, (3, 8, 8, 1), "uint8")
    np.testing.assert_allclose(
        loaded.predict(x, verbose=0), encoder.predict(x, verbose=0), rtol=1e-6
    )


def test_pixels_become_minus_1_to_1():
    encoder = image_encoder(2, image_shape=(1, 1, 1))
    dense = encoder.get_layer("embedding")
    dense.kernel.assign([[1.0, 2.0]])
    x = np.float32([0, 127.5, 255]).reshape(3, 1, 1, 1)
    np.testing.assert_allclose(
        encoder(x), [[-1, -2], [0, 0], [1, 2]], atol=1e-6
    )
