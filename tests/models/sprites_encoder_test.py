import keras
import numpy as np
import pytest

from embeddings_tf.models import sprites_encoder


def small(**arguments):
    return sprites_encoder(3, width=7, **arguments)


def test_number_of_weights_as_published():
    expected = (
        (25 * 3 + 1) * 64
        + (25 * 64 + 1) * 32
        + (12 * 12 * 32 + 1) * 2048
        + (2048 + 1) * 22
    )
    assert expected == 9_540_406
    assert sprites_encoder().count_params() == expected


@pytest.mark.parametrize(("gaussian", "outputs"), [(True, 6), (False, 3)])
@pytest.mark.parametrize(
    ("image_shape", "positions"),
    # (60 - 5) // 2 + 1 = 28, (28 - 5) // 2 + 1 = 12
    [((60, 60, 3), 12 * 12), ((15, 24, 1), 1 * 3)],
)
def test_shapes(gaussian, outputs, image_shape, positions):
    encoder = small(gaussian=gaussian, image_shape=image_shape)
    assert encoder.input_shape == (None, *image_shape)
    assert encoder.output_shape == (None, outputs)
    assert encoder.count_params() == (
        (25 * image_shape[-1] + 1) * 64
        + (25 * 64 + 1) * 32
        + (positions * 32 + 1) * 7
        + (7 + 1) * outputs
    )


def test_pixels_are_scaled_inside():
    """The first layer receives 0 to 1 for pixels of 0 to 255."""
    encoder = small()
    first = keras.Model(encoder.input, encoder.layers[2].output)
    x = np.full((1, 60, 60, 3), 255, "uint8")
    np.testing.assert_allclose(first(x), np.ones_like(x), rtol=1e-6)


def test_initial_weights():
    encoder = small()
    assert encoder.layers[-1].name == "embedding"
    layers = [layer for layer in encoder.layers if layer.weights]
    for layer in layers:
        np.testing.assert_allclose(layer.bias, 0.01, rtol=1e-6)
    fan_in, fan_out = 25 * 64, 25 * 32
    limit = np.sqrt(6 / (fan_in + fan_out))
    kernel = np.abs(layers[1].kernel)
    assert 0.99 * limit < kernel.max() <= limit


def test_initial_variance():
    encoder = small(gaussian=True, initial_variance=0.05)
    encoder.get_layer("embedding").kernel.assign(np.zeros((7, 6)))
    packed = encoder(np.zeros((1, 60, 60, 3), "float32"))
    np.testing.assert_allclose(packed, [[0] * 3 + [0.05] * 3], rtol=1e-5)


def test_save_and_load(tmp_path):
    encoder = small()
    encoder.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    x = np.random.default_rng(0).integers(256, size=(2, 60, 60, 3))
    np.testing.assert_array_equal(loaded(x), encoder(x))


def test_embedding_is_float32_under_mixed_precision():
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        encoder = small()
    finally:
        keras.config.set_dtype_policy(policy)
    assert encoder.output.dtype == "float32"
    assert encoder.layers[3].compute_dtype == "bfloat16"


def test_dimension_dropout():
    encoder = small(dimension_dropout=0.5)
    x = np.random.default_rng(0).integers(256, size=(4, 60, 60, 3))
    assert (encoder(x) != 0).numpy().all()
    training = [encoder(x, training=True).numpy() for _ in range(20)]
    is_kept = np.array(training) != 0
    np.testing.assert_array_equal(is_kept, is_kept[:, :1].repeat(4, 1))
    assert 0 < is_kept.mean() < 1


def test_dimension_dropout_is_of_points():
    with pytest.raises(ValueError, match="Set one of the two to 0"):
        small(gaussian=True, dimension_dropout=0.5)
