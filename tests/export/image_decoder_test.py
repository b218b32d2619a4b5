"""Image files become the pixels of the data sets, in limited memory."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf import layers
from embeddings_tf import losses
from embeddings_tf.datasets.crops import middle_crop
from embeddings_tf.datasets.crops import resize
from embeddings_tf.datasets.image_files import image_files
from embeddings_tf.export import ImageDecoder
from embeddings_tf.export import export_saved_model
from embeddings_tf.models import EmbeddingModel
from tests import peak_memory


def png(image):
    return tf.io.encode_png(tf.constant(image, tf.uint8)).numpy()


def noise(height, width, channels=3):
    rng = np.random.default_rng(height + width)
    return rng.integers(0, 256, (height, width, channels)).astype("uint8")


def decoded(decoder, *contents):
    graph = tf.function(lambda x: decoder("image_bytes", x)[0])
    return graph(tf.constant(contents)).numpy()


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(9, 14), (14, 9), (12, 12), (50, 31)])
def test_same_as_data_sets(shape):
    image = noise(*shape)
    (found,) = decoded(ImageDecoder((12, 12, 3), crop=True), png(image))
    np.testing.assert_array_equal(found, middle_crop(image, 12))
    (found,) = decoded(ImageDecoder((12, 7, 3)), png(image))
    np.testing.assert_array_equal(found, resize(image, (12, 7)))


@pytest.mark.parametrize(
    "shape", [(1, 300), (300, 1), (2, 61), (30, 700), (701, 31)]
)
def test_long_images(shape):
    """They are cut before they are scaled, with the same result."""
    image = noise(*shape)
    (found,) = decoded(ImageDecoder((12, 12, 3), crop=True), png(image))
    np.testing.assert_array_equal(found, middle_crop(image, 12))
    sides = [round(side * (12 * 8 / 7) / min(shape)) for side in shape]
    scaled = tf.image.resize(image, sides, antialias=True).numpy()
    top, left = (sides[0] - 12) // 2, (sides[1] - 12) // 2
    expected = np.rint(scaled[top : top + 12, left : left + 12])
    np.testing.assert_allclose(found, expected, atol=1)
    assert np.mean(found != expected) < 0.02


@pytest.mark.parametrize("crop", [True, False])
@pytest.mark.parametrize("shape", [(1, 3000), (3000, 1), (1, 900_000)])
def test_memory_of_long_images(shape, crop):
    """A grey line stays grey; a scaled image would take gigabytes."""
    decoder = ImageDecoder((84, 84, 3), crop=crop)
    content = png(np.full((*shape, 3), 77))
    before = peak_memory.reset()
    found = decoded(decoder, content)
    grown = peak_memory.read() - before
    np.testing.assert_array_equal(found, np.full((1, 84, 84, 3), 77))
    assert grown < 150_000  # KiB


def test_wide_image_resized_in_another_order():
    """Above 2^22 pixels of height first, the width is resized first."""
    image = noise(2, 60_000)
    (found,) = decoded(ImageDecoder((84, 84, 3)), png(image))
    np.testing.assert_array_equal(found, resize(image, (84, 84)))
    expected = tf.image.resize(image, (84, 84), antialias=True).numpy()
    expected = np.rint(expected)
    np.testing.assert_allclose(found, expected, atol=1)
    assert np.mean(found != expected) < 0.02


def png_16(*values, channels=1):
    pixels = np.reshape(values, (-1, 1, channels))
    return tf.io.encode_png(tf.constant(pixels, tf.uint16)).numpy()


@pytest.mark.slow
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("crop", [True, False])
def test_images_of_16_bits_that_the_library_refuses(channels, crop, tmp_path):
    """Below 16 * 256 = 4096, the upper 8 bits are below 16."""
    decoder = ImageDecoder((2, 2, channels), crop=crop)
    of_8_bits = tf.io.encode_png(np.uint8([[[1], [2]]])).numpy()
    jpeg = tf.io.encode_jpeg(np.uint8([[[1]], [[2]]])).numpy()
    good = png_16(0, 4096), png_16(4095, 4095), png_16(0), of_8_bits, jpeg
    # A dark grey of 0.299 * 16 in the upper bits, which the library keeps.
    good += (png_16(4096, 0, 0, 0, 0, 0, channels=3),)
    assert decoded(decoder, *good).shape == (6, 2, 2, channels)
    for number, content in enumerate(good):
        (tmp_path / f"{number}.png").write_bytes(content)
    names = [f"{number}.png" for number in range(6)]
    assert len([image for image in image_files(tmp_path, names)]) == 6
    for values in ((0, 4095), (0, 1), (255, 256)):
        content = png_16(*values)
        (tmp_path / "0.png").write_bytes(content)
        with pytest.raises(OSError, match="all below 16; scale it to 8 bits"):
            image_files(tmp_path, names)[0]
        with pytest.raises(tf.errors.InvalidArgumentError) as error:
            decoded(decoder, good[0], content)
        assert "all below 16; scale it to 8 bits" in str(error.value)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float64"])
def test_a_model_of_other_types_takes_files(dtype, tmp_path):
    """The decoder returns float32, which is rounded or cast for it."""
    image = keras.Input((8, 8, 3), dtype=dtype)
    x = keras.layers.Rescaling(1 / 255)(layers.PixelRange()(image))
    x = keras.layers.Dense(2)(keras.layers.Flatten()(x))
    model = EmbeddingModel(keras.Model(image, x), losses.TripletLoss())
    served = tf.saved_model.load(export_saved_model(model, tmp_path))
    pixels = np.random.default_rng(0).integers(0, 256, (2, 8, 8, 3))
    pixels = pixels.astype("uint8")
    files = tf.stack([tf.io.encode_png(one) for one in pixels])
    signature = served.signatures["embed_bytes"]
    (name,) = signature.structured_input_signature[1]
    np.testing.assert_allclose(
        signature(**{name: files})["embedding"],
        model.predict(pixels, verbose=0),
        atol=1e-5,
    )
