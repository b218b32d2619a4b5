import keras
import numpy as np
import pytest

from embeddings_tf.models import cifar_resnet18_encoder


@pytest.fixture(scope="module")
def encoder():
    return cifar_resnet18_encoder(image_shape=(16, 16, 3))


def images():
    rng = np.random.default_rng(0)
    return rng.integers(256, size=(3, 16, 16, 3)).astype("uint8")


def test_number_of_weights(encoder):
    expected = 9 * 3 * 64 + 4 * 64
    channels = 64
    for filters in (64, 128, 256, 512):
        if channels != filters:
            expected += channels * filters
        expected += 4 * channels + 9 * channels * filters
        expected += 3 * (4 * filters + 9 * filters * filters)
        channels = filters
    assert encoder.count_params() == expected
    assert not any(
        layer.use_bias
        for layer in encoder.layers
        if isinstance(layer, keras.layers.Conv2D)
    )


def test_shapes_as_published():
    encoder = cifar_resnet18_encoder()
    assert encoder.input_shape == (None, 32, 32, 3)
    assert encoder.output_shape == (None, 512)
    sums = [x for x in encoder.layers if isinstance(x, keras.layers.Add)]
    assert [x.output.shape[1:] for x in sums] == [
        (side, side, filters)
        for side, filters in ((32, 64), (16, 128), (8, 256), (4, 512))
        for _ in range(2)
    ]


def test_width_scales_every_stage():
    narrow = cifar_resnet18_encoder(image_shape=(16, 16, 3), width=4)
    assert narrow.output_shape == (None, 32)
    sums = [x for x in narrow.layers if isinstance(x, keras.layers.Add)]
    assert [x.output.shape[-1] for x in sums] == [4, 4, 8, 8, 16, 16, 32, 32]
    with pytest.raises(ValueError, match="`width` must be an integer"):
        cifar_resnet18_encoder(width=0.5)


def test_embedding_is_the_mean_over_the_image(encoder):
    features = keras.Model(encoder.input, encoder.layers[-2].output)
    assert isinstance(encoder.layers[-2], keras.layers.Add)
    np.testing.assert_allclose(
        encoder(images()),
        np.mean(features(images()), axis=(1, 2)),
        rtol=1e-4,
        atol=1e-6,
    )


def test_pixels_are_normalized_inside(encoder):
    first = keras.Model(encoder.input, encoder.layers[2].output)
    expected = (images() - [125.3, 123.0, 113.9]) / [63.0, 62.1, 66.7]
    np.testing.assert_allclose(first(images()), expected, rtol=1e-4, atol=1e-5)


def test_batch_normalization(encoder):
    layers = [
        layer
        for layer in encoder.layers
        if isinstance(layer, keras.layers.BatchNormalization)
    ]
    assert len(layers) == 1 + 2 * 8  # the stem's, two in a block
    assert {(x.momentum, x.epsilon) for x in layers} == {(0.9, 1e-5)}


@pytest.mark.slow
def test_save_and_load(encoder, tmp_path):
    encoder.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    np.testing.assert_array_equal(loaded(images()), encoder(images()))


def test_embedding_is_float32_under_mixed_precision():
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        encoder = cifar_resnet18_encoder(image_shape=(8, 8, 3))
    finally:
        keras.config.set_dtype_policy(policy)
    assert encoder.layers[-2].output.dtype == "bfloat16"
    assert encoder(images()[:, :8, :8]).dtype == "float32"
