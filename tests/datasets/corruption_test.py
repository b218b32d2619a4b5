import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.datasets import corrupt
from embeddings_tf.datasets import occlusion_mask


def _expected_statistics(size):
    """Enumerates the procedure: P(nothing occluded) and mean area."""
    lengths = np.arange(size + 1)
    nothing = 1 - (size / (size + 1)) ** 2
    return nothing, (lengths.mean() / size) ** 2


def _expected_coverage(size):
    """Probability that each pixel position is occluded along one axis."""
    coverage = np.zeros(size)
    for length in range(size + 1):
        for first in range(size - length + 1):
            chance = 1 / (size + 1) / (size - length + 1)
            coverage[first : first + length] += chance
    return coverage


def test_statistics_are_those_of_the_paper():
    nothing, area = _expected_statistics(28)
    assert round(nothing, 3) == 0.068 and round(area, 2) == 0.25
    mask = occlusion_mask(20_000, 28, 2, seed=(1, 2)).numpy()
    cells = mask.reshape(20_000, 28, 2, 28).transpose(0, 2, 1, 3)
    areas = cells.mean(axis=(2, 3)).ravel()
    # Standard errors are about 0.0013 for both.
    assert abs((areas == 0).mean() - nothing) < 0.006
    assert abs(areas.mean() - area) < 0.006
    coverage = np.outer(_expected_coverage(28), _expected_coverage(28))
    np.testing.assert_allclose(cells.mean(axis=(0, 1)), coverage, atol=0.015)


def test_every_size_and_corner_occurs():
    mask = occlusion_mask(4000, 3, 1, seed=(0, 0)).numpy()[..., 0]
    drawn = {image.tobytes() for image in mask}
    expected = {np.zeros((3, 3), bool).tobytes()}
    for width in range(1, 4):
        for height in range(1, 4):
            for left in range(3 - width + 1):
                for top in range(3 - height + 1):
                    image = np.zeros((3, 3), bool)
                    image[top : top + height, left : left + width] = True
                    expected.add(image.tobytes())
    assert drawn == expected


def test_digits_are_independent():
    mask = occlusion_mask(20_000, 8, 2, seed=(3, 4)).numpy()
    areas = mask.reshape(20_000, 8, 2, 8).mean(axis=(1, 3))
    assert abs(np.corrcoef(areas.T)[0, 1]) < 0.03
    untouched = occlusion_mask(20_000, 8, 2, (3, 4), probability=0.2).numpy()
    areas = untouched.reshape(20_000, 8, 2, 8).mean(axis=(1, 3))
    occluded = 0.2 * (8 / 9) ** 2
    assert np.allclose((areas > 0).mean(axis=0), occluded, atol=0.015)
    both = (areas > 0).all(axis=1).mean()
    assert abs(both - occluded**2) < 0.01


def test_pure_in_seed():
    images = np.full((32, 8, 16, 1), 255, np.uint8)
    first = corrupt(images, seed=(5, 6)).numpy()
    np.testing.assert_array_equal(corrupt(images, seed=(5, 6)), first)
    assert (corrupt(images, seed=(5, 7)).numpy() != first).any()
    assert (corrupt(images, seed=(6, 6)).numpy() != first).any()
    mask = occlusion_mask(32, 8, 2, seed=(5, 6)).numpy()
    np.testing.assert_array_equal(first, np.where(mask, 0, images))
    # A lower probability keeps some of the same rectangles.
    fewer = occlusion_mask(32, 8, 2, seed=(5, 6), probability=0.5).numpy()
    assert not (fewer & ~mask).any() and fewer.sum() < mask.sum()


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float32"])
@pytest.mark.parametrize("channels", [1, 3])
def test_keeps_dtype_and_shape(dtype, channels):
    images = np.ones((6, 4, 12, channels), dtype)
    corrupted = corrupt(images, seed=(1, 1))
    assert corrupted.dtype == dtype
    assert corrupted.shape == images.shape
    assert set(np.unique(corrupted)) == {0, 1}
    # All channels of a pixel are occluded together.
    assert (corrupted.numpy() == corrupted.numpy()[..., :1]).all()


def test_probability_zero_and_tensor():
    images = np.ones((6, 4, 4, 1), "float32")
    np.testing.assert_array_equal(corrupt(images, (1, 1), 0.0), images)
    np.testing.assert_array_equal(
        corrupt(images, (1, 1), tf.constant(0.5)), corrupt(images, (1, 1), 0.5)
    )


def test_in_a_graph_and_in_a_pipeline():
    images = np.ones((6, 4, 8, 1), "float32")
    seed = tf.constant([1, 2], tf.int32)
    expected = corrupt(images, seed).numpy()

    function = tf.function(
        corrupt,
        input_signature=[
            tf.TensorSpec((None, 4, 8, 1), tf.float32),
            tf.TensorSpec((2,), tf.int32),
        ],
    )
    np.testing.assert_array_equal(function(images, seed), expected)
    assert function.get_concrete_function().output_shapes == (None, 4, 8, 1)

    dataset = tf.data.Dataset.from_tensors(images)
    dataset = dataset.map(lambda x: corrupt(x, (1, 2)))
    assert dataset.element_spec.shape == (6, 4, 8, 1)
    np.testing.assert_array_equal(next(iter(dataset)), expected)


@pytest.mark.parametrize(
    ("images", "arguments", "message"),
    [
        (np.ones((4, 8)), {}, "shape \\(batch, height, width, channels\\)"),
        (np.ones((2, 4, 6, 1)), {"num_digits": 4}, "must divide the width"),
        (np.ones((2, 4, 6, 1)), {"num_digits": 0}, "`num_digits` must be"),
        (
            np.ones((2, 4, 4, 1), str),
            {},
            "Images must be real numbers; .* string",
        ),
        (None, {}, "Images must be real numbers; received NoneType"),
        ({"a": 1}, {}, "Images must be real numbers; received dict"),
        ([[1], [1, 2]], {}, "`Images` must be an array, or lists"),
        (np.ones((2, 4, 4, 1)) * 1j, {}, "imaginary part would be lost"),
        (np.ones((2, 0, 6, 1)), {}, "not zero"),
        (np.ones((2, 4, 4, 1)), {"probability": 1.5}, "between 0 and 1"),
        (np.ones((2, 4, 4, 1)), {"probability": float("nan")}, "received nan"),
        (np.ones((2, 4, 4, 1)), {"probability": tf.ones(2)}, "scalar"),
        (
            np.ones((2, 4, 4, 1)),
            {"probability": tf.constant(1.5)},
            "between 0 and 1; received 1.5",
        ),
        (
            np.ones((2, 4, 4, 1)),
            {"probability": tf.constant(np.nan)},
            "between 0 and 1; received nan",
        ),
        (
            np.ones((2, 4, 4, 1)),
            {"probability": tf.constant("a")},
            "must be a number; received dtype string",
        ),
        (np.ones((2, 4, 4, 1)), {"seed": 3}, "two integers"),
        (np.ones((2, 4, 4, 1)), {"seed": (1.0, 2.0)}, "two integers"),
    ],
)
def test_bad_input(images, arguments, message):
    with pytest.raises(ValueError, match=message):
        corrupt(images, **{"seed": (1, 2), **arguments})


@pytest.mark.parametrize(
    ("size", "num_digits", "message"),
    [(0, 1, "`size` must"), (4, 0, "`num_digits` must"), (4.5, 1, "`size` m")],
)
def test_bad_mask_size(size, num_digits, message):
    with pytest.raises(ValueError, match=message):
        occlusion_mask(2, size, num_digits, seed=(1, 2))


@pytest.mark.parametrize("shape", [(10, 7), (6, 8), (1, 1), (3, 9)])
def test_images_of_any_shape_are_one_cell(shape):
    height, width = shape
    images = np.ones((20_000, height, width, 3), np.uint8)
    corrupted = corrupt(images, (1, 2), num_digits=1).numpy()
    hidden = corrupted[..., 0] == 0
    # Each side is uniform in 0..side, and both are independent.
    assert abs(hidden.mean() - 0.25) < 0.01
    nothing = 1 - height * width / ((height + 1) * (width + 1))
    assert abs((~hidden.any(axis=(1, 2))).mean() - nothing) < 0.015
    coverage = np.outer(_expected_coverage(height), _expected_coverage(width))
    np.testing.assert_allclose(hidden.mean(axis=0), coverage, atol=0.02)
    # One rectangle: its pixels are its rows times its columns.
    rows, columns = hidden.any(axis=2).sum(1), hidden.any(axis=1).sum(1)
    np.testing.assert_array_equal(hidden.sum(axis=(1, 2)), rows * columns)


def test_an_image_of_no_whole_number_of_squares_is_one_cell():
    images = np.ones((50, 6, 8, 1), np.float32)
    np.testing.assert_array_equal(
        corrupt(images, (3, 4)), corrupt(images, (3, 4), num_digits=1)
    )
    mask = occlusion_mask(50, (6, 8), 1, (3, 4)).numpy()
    np.testing.assert_array_equal(corrupt(images, (3, 4)), ~mask)
    # Two cells of 6 x 4 are drawn independently.
    halves = corrupt(images, (3, 4), num_digits=2).numpy()
    assert len(np.unique([halves[..., :4, :], halves[..., 4:, :]])) == 2
