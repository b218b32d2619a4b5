"""Tests of the encoder of coloured shapes."""

import keras
import numpy as np

from embeddings_tf.models import colour_orientation_encoder
from embeddings_tf.models import has_gaussian_output


def test_shape_and_parameters():
    for gaussian in (True, False):
        encoder = colour_orientation_encoder(2, gaussian=gaussian)
        width = 4 if gaussian else 2
        assert encoder.output_shape == (None, width)
        assert has_gaussian_output(encoder) == gaussian
        # Kernel, bias, and of the batch normalisation 4 vectors.
        blocks = (9 * 3 + 1 + 4) * 64 + 4 * (9 * 64 + 1 + 4) * 64
        assert encoder.count_params() == blocks + (9 * 64 + 1) * width


def test_saved_and_loaded(tmp_path):
    encoder = colour_orientation_encoder(2)
    encoder.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    x = np.random.default_rng(0).integers(0, 256, (3, 64, 64, 3), "uint8")
    np.testing.assert_allclose(
        loaded.predict(x, verbose=0), encoder.predict(x, verbose=0), rtol=1e-6
    )
