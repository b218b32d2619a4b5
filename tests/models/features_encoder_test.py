"""Tests of the encoder of features."""

import numpy as np

from embeddings_tf.models import features_encoder
from embeddings_tf.models import has_gaussian_output


def test_shape_and_parameters():
    encoder = features_encoder(2, num_features=5, hidden_units=(7, 3))
    assert encoder.input_shape == (None, 5)
    assert encoder.output_shape == (None, 2)
    # Batch normalisation has 4 vectors; kernels and biases follow.
    assert encoder.count_params() == 4 * 5 + 6 * 7 + 8 * 3 + 4 * 2
    gaussian = features_encoder(
        2, num_features=5, hidden_units=(), gaussian=True
    )
    assert has_gaussian_output(gaussian)
    assert gaussian.count_params() == 4 * 5 + 6 * 4


def test_units_of_columns_do_not_matter_in_training():
    encoder = features_encoder(2, num_features=3, hidden_units=(4,))
    x = np.random.default_rng(0).normal(size=(50, 3)).astype("float32")
    changed = x * np.float32([1000, 1, 50]) + np.float32([5, 0, -3])
    np.testing.assert_allclose(
        encoder(x, training=True),
        encoder(changed, training=True),
        atol=0.02,
    )
