import keras
import numpy as np
import pytest

from embeddings_tf.models import person_re_identification_encoder


def images(shape=(12, 8, 3), rows=2):
    rng = np.random.default_rng(0)
    return rng.uniform(0, 255, size=(rows, *shape)).astype("float32")


@pytest.mark.parametrize(
    ("image_shape", "flattened"),
    [((160, 60, 3), 40_320), ((128, 64, 3), 33_792)],
)
def test_shapes_as_published(image_shape, flattened):
    encoder = person_re_identification_encoder(image_shape=image_shape)
    assert encoder.input_shape == (None, *image_shape)
    assert encoder.output_shape == (None, 500)
    assert encoder.get_layer("features").output.shape[1:] == (flattened,)
    # Pooling halves twice, rounding up.
    width = -(-image_shape[1] // 4)
    third = image_shape[0] // 3
    heights = (third, third, image_shape[0] - 2 * third)
    assert flattened == sum(-(-h // 4) * width * 64 for h in heights)
    assert encoder.count_params() == (
        (49 * 3 + 1) * 64  # shared by the parts
        + 3 * (25 * 64 + 1) * 64
        + (flattened + 1) * 500
    )


def test_parts_do_not_overlap():
    """Each image row affects only the features of its part."""
    encoder = person_re_identification_encoder(
        2, image_shape=(14, 8, 3)
    )  # 4, 4, 6 rows
    features = keras.Model(encoder.input, encoder.get_layer("features").output)
    x = images((14, 8, 3), rows=1)
    sizes = [1 * 2 * 64, 1 * 2 * 64, 2 * 2 * 64]
    bounds = np.cumsum(sizes)[:-1]
    before = np.split(features(x)[0], bounds)
    for row in range(14):
        changed = x.copy()
        changed[:, row] = 255 - changed[:, row]
        after = np.split(features(changed)[0], bounds)
        differs = [np.any(a != b) for a, b in zip(after, before, strict=True)]
        part = min(row // 4, 2)
        assert differs == [part == p for p in range(3)], row


def test_first_convolution_is_shared_the_second_is_not():
    encoder = person_re_identification_encoder(2, image_shape=(12, 8, 3))
    features = keras.Model(encoder.input, encoder.get_layer("features").output)
    x = np.tile(images((4, 8, 3)), (1, 3, 1, 1))
    for name in ("middle", "lower"):
        weights = encoder.get_layer("upper").get_weights()
        assert np.any(features(x)[:, :128] != features(x)[:, -128:])
        encoder.get_layer(name).set_weights(weights)
    upper, middle, lower = np.split(features(x), 3, axis=1)
    np.testing.assert_allclose(middle, upper, rtol=1e-5)
    np.testing.assert_allclose(lower, upper, rtol=1e-5)


def test_features_of_a_constant_image():
    """Normalised twice, computed by hand away from the padding.

    With constant kernels all 64 channels are equal, so the sum over channel
    32 and its neighbours has 11 equal terms.
    """
    encoder = person_re_identification_encoder(2, image_shape=(150, 60, 3))
    for name in ("shared", "upper", "middle", "lower"):
        kernel, bias = encoder.get_layer(name).get_weights()
        encoder.get_layer(name).set_weights(
            [np.full_like(kernel, 0.01), np.full_like(bias, 0.25)]
        )
    features = keras.Model(encoder.input, encoder.get_layer("features").output)
    x = np.full((1, 150, 60, 3), 51, "uint8")  # 0.2
    first = 49 * 3 * 0.01 * 0.2 + 0.25

    def normalised(value, terms):
        return value / np.sqrt(1 + terms * value**2)

    # Channel c has min(c, 5) neighbours below and min(63 - c, 5) above.
    terms = np.array([min(c, 5) + 1 + min(63 - c, 5) for c in range(64)])
    second = 25 * 0.01 * normalised(first, terms).sum() + 0.25
    part = np.reshape(features(x)[0, : 13 * 15 * 64], (13, 15, 64))
    np.testing.assert_allclose(part[6, 7], normalised(second, terms), rtol=1e-4)


def test_initial_weights():
    encoder = person_re_identification_encoder(2, image_shape=(12, 8, 3))
    for layer in (layer for layer in encoder.layers if layer.weights):
        np.testing.assert_allclose(layer.bias, 0.01, rtol=1e-6)
    kernel = np.abs(encoder.get_layer("shared").kernel)
    limit = np.sqrt(6 / (49 * 3 + 49 * 64))
    assert 0.99 * limit < kernel.max() <= limit


def test_pixels_are_scaled_inside():
    """The first layer receives 0 to 1 for pixels of 0 to 255."""
    encoder = person_re_identification_encoder(2, image_shape=(12, 8, 3))
    first = keras.Model(encoder.input, encoder.layers[2].output)
    x = np.full((1, 12, 8, 3), 255, "uint8")
    np.testing.assert_allclose(first(x), np.ones_like(x), rtol=1e-6)


def test_save_and_load(tmp_path):
    encoder = person_re_identification_encoder(2, image_shape=(12, 8, 3))
    encoder.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    np.testing.assert_array_equal(loaded(images()), encoder(images()))


def test_mixed_precision():
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        encoder = person_re_identification_encoder(2, image_shape=(12, 8, 3))
    finally:
        keras.config.set_dtype_policy(policy)
    assert encoder(images()).dtype == "float32"
    assert encoder.get_layer("upper").output.dtype == "bfloat16"


def test_too_low():
    with pytest.raises(ValueError, match=r"3 rows; received \(2, 8, 3\)"):
        person_re_identification_encoder(image_shape=(2, 8, 3))
