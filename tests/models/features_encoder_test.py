"""Tests of the encoder of features."""

import keras
import numpy as np
import pytest

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


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_large_features_keep_their_digits_in_half_precision(policy):
    # Half precision rounds 1990 to 1997 to two or five numbers, 1e5 to
    # infinity in float16.
    years = np.arange(1990, 1998, dtype="float32")
    x = np.stack([years, years * 50], axis=1)
    keras.config.set_dtype_policy(policy)
    try:
        encoder = features_encoder(1, num_features=2, hidden_units=())
    finally:
        keras.config.set_dtype_policy("float32")
    embeddings = np.ravel(encoder(x, training=True))
    steps = np.diff(embeddings)
    np.testing.assert_allclose(steps, steps.mean(), rtol=0.05)
    assert abs(steps.mean()) > 0.01
