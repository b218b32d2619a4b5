import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.datasets import crop_and_flip

HEIGHT, WIDTH = 5, 6


def numbered(batch):
    """Images whose pixels are all different, and none of them 0."""
    count = batch * HEIGHT * WIDTH * 2
    x = 1 + np.arange(count, dtype="int32")
    return x.reshape(batch, HEIGHT, WIDTH, 2)


def candidates(image, padding):
    """All that an image may become, by (row, column, whether mirrored)."""
    padded = np.pad(image, [(padding, padding), (padding, padding), (0, 0)])
    for row in range(2 * padding + 1):
        for column in range(2 * padding + 1):
            crop = padded[row : row + HEIGHT, column : column + WIDTH]
            yield (row, column, False), crop
            yield (row, column, True), crop[:, ::-1]


def what_was_drawn(image, found, padding):
    names = [
        name
        for name, crop in candidates(image, padding)
        if np.array_equal(crop, found)
    ]
    assert len(names) == 1
    return names[0]


def test_every_image_is_one_of_its_crops_and_all_occur():
    images = numbered(400)
    found = crop_and_flip(images, (3, 4), padding=1).numpy()
    assert found.dtype == images.dtype
    drawn = [
        what_was_drawn(image, crop, 1)
        for image, crop in zip(images, found, strict=True)
    ]
    # 18 of them, each 22 times on average.
    names, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(names) == 18 and counts.min() > 5
    mirrored = np.mean([name[2] for name in drawn])
    assert abs(mirrored - 0.5) < 0.1


def test_a_pure_function_of_images_and_seed():
    images = numbered(8).astype("uint8")
    once = crop_and_flip(images, (1, 2))
    traced = tf.function(
        crop_and_flip,
        input_signature=[
            tf.TensorSpec((None, HEIGHT, WIDTH, 2), tf.uint8),
            tf.TensorSpec((2,), tf.int32),
        ],
    )
    np.testing.assert_array_equal(once, traced(images, (1, 2)))
    assert not np.array_equal(once, crop_and_flip(images, (1, 3)))
    assert traced(images[:0], (1, 2)).shape == (0, HEIGHT, WIDTH, 2)


@pytest.mark.parametrize(
    ("images", "seed", "padding", "message"),
    [
        (np.zeros((5, 6, 2)), (1, 2), 4, "shape \\(5, 6, 2\\)"),
        (np.zeros((1, 5, 6, 2)), (1, 2), 0, "`padding`"),
        (np.zeros((1, 5, 6, 2)), 1, 4, "two integers"),
    ],
)
def test_bad_input(images, seed, padding, message):
    with pytest.raises(ValueError, match=message):
        crop_and_flip(images, seed, padding)
