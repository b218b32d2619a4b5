"""Pretrained networks, with random weights and weights of a file."""

import random

import keras
import numpy as np
import pytest

from embeddings_tf.models import backbone
from embeddings_tf.models.application_input import ApplicationInput
from embeddings_tf.models.application_input import application_names
from tests.models.networks import write_networks

IMAGES = np.random.default_rng(0).integers(0, 256, (2, 32, 32, 3), np.uint8)


@pytest.fixture
def networks(tmp_path):
    return write_networks(tmp_path)


@pytest.mark.parametrize(
    ("application", "expected"),
    [
        # Three kinds of preprocessing, and none.
        ("MobileNetV2", lambda x: x / 127.5 - 1),
        ("ResNet50", lambda x: x[..., ::-1] - [103.939, 116.779, 123.68]),
        (
            "DenseNet121",
            lambda x: (x / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225],
        ),
        ("EfficientNetV2B0", lambda x: x),
    ],
)
def test_preprocessing_of_the_network(application, expected):
    layer = ApplicationInput(application)
    kept = IMAGES.astype("float32")
    again = ApplicationInput.from_config(layer.get_config())
    for made in (layer, again):
        found = made(kept).numpy()
        np.testing.assert_allclose(found, expected(1.0 * IMAGES), atol=1e-4)
    np.testing.assert_array_equal(kept, IMAGES)
    image = keras.Input((32, 32, 3))
    model = keras.Model(image, layer(image))
    np.testing.assert_allclose(model(IMAGES).numpy(), found, atol=1e-4)


def test_every_application_has_a_preprocessing():
    names = application_names()
    assert {"ResNet50", "VGG16", "ConvNeXtTiny", "NASNetMobile"} <= set(names)
    for name in names:
        layer = ApplicationInput(name)
        assert layer(IMAGES[:1]).shape == (1, 32, 32, 3)


def test_weights_of_imagenet(tmp_path, monkeypatch):
    """With a file made here in the place of the downloaded one."""
    network = keras.applications.VGG16(
        include_top=False, weights=None, input_shape=(32, 32, 3), pooling="avg"
    )
    path = str(tmp_path / "downloaded.weights.h5")
    network.save_weights(path)
    module = keras.applications.VGG16.__globals__
    monkeypatch.setattr(module["file_utils"], "get_file", lambda *_, **__: path)
    found = backbone("VGG16", weights="imagenet", image_shape=(32, 32, 3))
    # Blue, green, red, without the means of ImageNet.
    images = IMAGES[..., ::-1] - np.float32([103.939, 116.779, 123.68])
    expected = network(images, training=False).numpy()
    assert expected.any()
    np.testing.assert_allclose(found(IMAGES).numpy(), expected, atol=1e-4)


@pytest.mark.slow
def test_weights_of_a_file(tmp_path):
    """What a file of ImageNet's weights does, with a file made here."""
    network = keras.applications.MobileNetV2(
        include_top=False, weights=None, input_shape=(32, 32, 3)
    )
    path = str(tmp_path / "mobile.weights.h5")
    network.save_weights(path)
    maps = network(IMAGES / 127.5 - 1, training=False).numpy()
    found = backbone("MobileNetV2", weights=path, image_shape=(32, 32, 3))
    features = found(IMAGES, training=True).numpy()  # frozen all the same
    np.testing.assert_allclose(features, maps.mean((1, 2)), atol=1e-5)
    assert features.dtype == np.float32 and not found.trainable_variables
    found.save(tmp_path / "found.keras")
    again = keras.saving.load_model(tmp_path / "found.keras")
    np.testing.assert_array_equal(again(IMAGES).numpy(), features)
    (tmp_path / "cut.weights.h5").write_bytes(b"no weights")
    for name, error in (("cut.weights.h5", OSError), ("none.h5", ValueError)):
        with pytest.raises(error, match=f"{name}") as raised:
            backbone(
                "MobileNetV2",
                weights=str(tmp_path / name),
                image_shape=(32, 32, 3),
            )
        assert "\n" not in str(raised.value)


def test_without_a_network(monkeypatch):
    def get_file(*_, **__):
        raise Exception("URL fetch failure")

    module = keras.applications.MobileNetV2.__globals__
    monkeypatch.setattr(module["file_utils"], "get_file", get_file)
    with pytest.raises(OSError, match="'imagenet' of MobileNetV2 could not be"):
        backbone("MobileNetV2", image_shape=(96, 96, 3))


def test_random_weights_depend_on_the_seed_only(networks):
    def weights(seed):
        made = backbone(
            f"{networks}:network",
            weights=None,
            image_shape=(9, 9, 3),
            seed=seed,
        )
        return made.weights[0].numpy()

    random.seed(3)
    expected = random.random()
    random.seed(3)
    first = weights(0)
    assert random.random() == expected
    np.testing.assert_array_equal(weights(0), first)
    assert not np.array_equal(weights(1), first)


def test_own_networks(networks, tmp_path, monkeypatch):
    made = backbone(f"{networks}:network", weights=None, image_shape=(9, 9, 3))
    assert made.output_shape == (None, 6)
    # Of one's own, the network gets pixels of 0 to 255.
    inner = made.get_layer("network").layer
    x = IMAGES[:, :9, :9]
    np.testing.assert_allclose(
        made(x).numpy(),
        inner(x.astype("float32")).numpy().mean((1, 2)),
        atol=1e-5,
    )
    grey = backbone(f"{networks}:network", weights=None, image_shape=(9, 9, 1))
    np.testing.assert_allclose(
        grey(x[..., :1]).numpy(),
        made(np.repeat(x[..., :1], 3, axis=-1)).numpy(),
        atol=1e-5,
    )
    path = str(tmp_path / "own.weights.h5")
    inner.save_weights(path)
    other = backbone(
        f"{networks}:network", weights=path, image_shape=(9, 9, 3), seed=8
    )
    np.testing.assert_array_equal(other(x).numpy(), made(x).numpy())
    monkeypatch.setenv("HOME", str(tmp_path))
    name, home = f"{networks}:network", "~/own.weights.h5"
    other = backbone(name, weights=home, image_shape=(9, 9, 3), seed=8)
    np.testing.assert_array_equal(other(x).numpy(), made(x).numpy())
    vectors = backbone(
        f"{networks}:vectors", weights=None, image_shape=(9, 9, 3)
    )
    assert vectors.output_shape == (None, 5)
    with pytest.raises(ValueError, match="own.weights.h5' do not fit .*:vect"):
        backbone(f"{networks}:vectors", weights=path, image_shape=(9, 9, 3))


@pytest.mark.parametrize(
    ("network", "options", "message"),
    [
        (
            "MobileNetV9",
            {},
            "`network` must be FILE.py:FUNCTION or one of .*Re",
        ),
        ("MobileNetV2", {"image_shape": (8, 8, 3)}, "at least 32"),
        ("MobileNetV2", {"image_shape": (32, 32, 2)}, "1 or 3 channels"),
        ("MobileNetV2", {"weights": "none.h5"}, "none.h5"),
        ("{}:none", {}, "no class or function 'none'; it has network"),
        ("{}:no_model", {}, "must return a Keras model .* returned a int"),
        ("{}:rows", {}, r"must return vectors .* returns shape \(None, .*3\)"),
        ("{}:needs", {}, "needs: .*missing 1 required"),
        ("{}:vectors", {"weights": "imagenet"}, "has no ImageNet weights"),
    ],
)
def test_refused(networks, network, options, message):
    options = {"weights": None, "image_shape": (32, 32, 3), **options}
    with pytest.raises(ValueError, match=message) as raised:
        backbone(network.format(networks), **options)
    assert "\n" not in str(raised.value)
