import keras
import numpy as np

from embeddings_tf.models import bird_features_encoder


def features(rows=3):
    rng = np.random.default_rng(0)
    return rng.uniform(0, 2, size=(rows, 2048)).astype("float32")


def test_shapes_as_published():
    encoder = bird_features_encoder()
    assert encoder.input_shape == (None, 2048)
    assert encoder.output_shape == (None, 500)
    assert encoder.count_params() == (2048 + 1) * 1024 + (1024 + 1) * 500


def test_in_numpy():
    """Also checks that features are not scaled."""
    encoder = bird_features_encoder(4)
    kernel, bias, last_kernel, last_bias = encoder.get_weights()
    np.testing.assert_allclose([*bias, *last_bias], 0.01, rtol=1e-6)
    hidden = np.maximum(features() @ kernel + bias, 0)
    # An output near 0 is a difference of larger sums.
    np.testing.assert_allclose(
        encoder(features()),
        hidden @ last_kernel + last_bias,
        rtol=1e-4,
        atol=1e-5,
    )


def test_save_and_load(tmp_path):
    encoder = bird_features_encoder(4)
    encoder.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    np.testing.assert_array_equal(loaded(features()), encoder(features()))
