import keras
import numpy as np
import pytest

from embeddings_tf.models import resnet50_encoder


@pytest.fixture(scope="module")
def encoder():
    return resnet50_encoder(5, weights=None, image_shape=(32, 32, 3))


def images():
    rng = np.random.default_rng(0)
    return rng.integers(256, size=(2, 32, 32, 3)).astype("uint8")


@pytest.mark.slow
def test_number_of_weights(encoder):
    def convolution(size, inputs, outputs):
        """With bias and batch normalisation."""
        return size**2 * inputs * outputs + 5 * outputs

    expected, channels = convolution(7, 3, 64), 64
    for filters, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        expected += convolution(1, channels, 4 * filters)  # shortcut
        for _ in range(blocks):
            expected += convolution(1, channels, filters)
            expected += convolution(3, filters, filters)
            expected += convolution(1, filters, 4 * filters)
            channels = 4 * filters
    assert encoder.get_layer("resnet50").count_params() == expected
    assert encoder.count_params() == expected + (2048 + 1) * 5


def test_shapes(encoder):
    assert encoder.input_shape == (None, 32, 32, 3)
    assert encoder.get_layer("resnet50").output_shape == (None, 2048)
    assert encoder.output_shape == (None, 5)


@pytest.mark.slow
def test_pixels_are_preprocessed_inside(encoder):
    backbone = encoder.get_layer("resnet50")
    (rescaling,) = (
        layer
        for layer in encoder.layers
        if isinstance(layer, keras.layers.Rescaling)
    )
    before = keras.Model(encoder.input, rescaling.output)
    expected = images()[..., ::-1] - [103.939, 116.779, 123.68]
    np.testing.assert_allclose(before(images()), expected, rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(
        keras.applications.resnet50.preprocess_input(
            images().astype("float32")
        ),
        expected,
        rtol=1e-5,
        atol=1e-4,
    )
    head = encoder.get_layer("embedding")
    np.testing.assert_allclose(
        encoder(images()),
        head(backbone(expected.astype("float32"))),
        rtol=1e-3,
        atol=1e-4,
    )


@pytest.mark.slow
def test_save_and_load(encoder, tmp_path):
    encoder.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    np.testing.assert_array_equal(loaded(images()), encoder(images()))


def test_no_network(monkeypatch):
    def failed(**arguments):
        # The error that keras.utils.get_file raises.
        raise Exception("URL fetch failure on https://...: None -- no route")

    monkeypatch.setattr(keras.applications, "ResNet50", failed)
    with pytest.raises(OSError, match="'imagenet'.*no route.*or None for"):
        resnet50_encoder(5)


def test_weights_are_not_weights(tmp_path):
    path = tmp_path / "resnet50.weights.h5"
    path.write_bytes(b"not HDF5")
    with pytest.raises(OSError, match="resnet50.weights.h5' of ResNet50"):
        resnet50_encoder(5, weights=str(path), image_shape=(32, 32, 3))


def test_image_too_small():
    with pytest.raises(ValueError, match="at least 32x32"):
        resnet50_encoder(5, weights=None, image_shape=(16, 16, 3))


def test_unknown_weights():
    with pytest.raises(ValueError, match="weights=elsewhere"):
        resnet50_encoder(5, weights="elsewhere")
