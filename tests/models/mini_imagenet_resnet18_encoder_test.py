import keras
import numpy as np
import pytest

from embeddings_tf.models import cifar_resnet18_encoder
from embeddings_tf.models import mini_imagenet_resnet18_encoder


def images(side):
    rng = np.random.default_rng(0)
    return rng.integers(256, size=(2, side, side, 3)).astype("uint8")


@pytest.fixture(scope="module")
def encoder():
    # Sides: 66 after the first convolution, then 33, 33, 17, 9 and 5.
    return mini_imagenet_resnet18_encoder(
        image_shape=(68, 68, 3), pooling="authors"
    )


@pytest.fixture(scope="module")
def published():
    return mini_imagenet_resnet18_encoder()


def last_sum(encoder):
    sums = [x for x in encoder.layers if isinstance(x, keras.layers.Add)]
    return keras.Model(encoder.input, sums[-1].output)


def test_shapes_as_published(published):
    assert published.input_shape == (None, 84, 84, 3)
    assert published.output_shape == (None, 512)
    stem, *_ = (
        x for x in published.layers if isinstance(x, keras.layers.Conv2D)
    )
    assert stem.output.shape == (None, 82, 82, 64)
    sums = [x for x in published.layers if isinstance(x, keras.layers.Add)]
    assert [x.output.shape[1:] for x in sums] == [
        (side, side, filters)
        for side, filters in ((41, 64), (21, 128), (11, 256), (6, 512))
        for _ in range(2)
    ]


def test_differs_from_cifar_in_its_first_kernel_alone(encoder):
    more = (25 - 9) * 3 * 64
    cifar = cifar_resnet18_encoder(image_shape=(8, 8, 3))
    assert encoder.count_params() == cifar.count_params() + more


def test_pixels_are_normalized_inside(encoder):
    first = keras.Model(encoder.input, encoder.layers[2].output)
    scaled = images(68) / 255
    expected = (scaled - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    np.testing.assert_allclose(
        first(images(68)), expected, rtol=1e-4, atol=1e-5
    )


def test_global_pooling(published):
    features = last_sum(published)(images(84))
    np.testing.assert_allclose(
        published(images(84)),
        np.mean(features, axis=(1, 2)),
        rtol=1e-4,
        atol=1e-6,
    )


def test_pooling_of_the_authors(encoder):
    features = last_sum(encoder)(images(68)).numpy()
    assert features.shape[1:3] == (5, 5)
    np.testing.assert_allclose(
        encoder(images(68)),
        features[:, :4, :4].mean(axis=(1, 2)),
        rtol=1e-4,
        atol=1e-6,
    )


@pytest.mark.slow
def test_save_and_load(encoder, tmp_path):
    encoder.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    np.testing.assert_array_equal(loaded(images(68)), encoder(images(68)))


def test_embedding_is_float32_under_mixed_precision():
    policy = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        encoder = mini_imagenet_resnet18_encoder(image_shape=(16, 16, 3))
    finally:
        keras.config.set_dtype_policy(policy)
    assert last_sum(encoder).output.dtype == "bfloat16"
    assert encoder(images(16)).dtype == "float32"


def test_pooling_is_known():
    with pytest.raises(ValueError, match="`pooling`.*received 'average'"):
        mini_imagenet_resnet18_encoder(pooling="average")


def test_too_small_for_the_window():
    with pytest.raises(ValueError, match=r"\(16, 68, 3\), .* leaves \(1, 5\)"):
        mini_imagenet_resnet18_encoder(
            image_shape=(16, 68, 3), pooling="authors"
        )
