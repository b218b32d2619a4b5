import keras
import numpy as np

from embeddings_tf.models import mnist_encoder


def images(shape=(28, 28, 1)):
    rng = np.random.default_rng(0)
    return rng.integers(256, size=(3, *shape)).astype("uint8")


def test_shapes():
    encoder = mnist_encoder()
    assert encoder.input_shape == (None, 28, 28, 1)
    assert encoder.output_shape == (None, 2)
    assert encoder.count_params() == (
        (25 + 1) * 32
        + (25 * 32 + 1) * 64
        + (7 * 7 * 64 + 1) * 128
        + (128 + 1) * 2
    )


def test_other_images_and_dimensions():
    encoder = mnist_encoder(3, image_shape=(8, 8, 1))
    assert encoder(images((8, 8, 1))).shape == (3, 3)


def test_pixels_are_scaled_inside():
    """The first layer receives 0 to 1 for pixels of 0 to 255."""
    encoder = mnist_encoder()
    first = keras.Model(encoder.input, encoder.layers[2].output)
    np.testing.assert_allclose(first(images()), images() / 255, rtol=1e-6)


def test_save_and_load(tmp_path):
    encoder = mnist_encoder()
    encoder.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    np.testing.assert_array_equal(loaded(images()), encoder(images()))


def test_embedding_is_float32_under_mixed_precision():
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        encoder = mnist_encoder()
    finally:
        keras.config.set_dtype_policy(policy)
    assert encoder.output.dtype == "float32"
    assert encoder.layers[3].compute_dtype == "bfloat16"
