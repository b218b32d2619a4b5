"""Coloured shapes, drawn when they are read."""

import colorsys

import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.datasets import ColourOrientation
from embeddings_tf.datasets import batches
from embeddings_tf.datasets import load
from embeddings_tf.datasets.colour_orientation import bayes_accuracy
from embeddings_tf.datasets.l_shapes import draw_l_shapes


def angular_distance(first, second):
    return np.abs((first - second + 180) % 360 - 180)


def test_factors_are_those_of_the_classes():
    x = ColourOrientation(40_000, seed=3)
    assert x.labels.dtype == np.int32
    assert np.bincount(x.labels).tolist() == [10_000] * 4
    for values, second in (
        (x.orientation, x.labels // 2),
        (x.hue, x.labels % 2),
    ):
        assert (0 <= values).all() and (values < 360).all()
        for which, centre in enumerate((45, 135)):
            # On the circle: the direction of the mean, and the spread.
            mean = np.mean(np.exp(1j * np.deg2rad(values[second == which])))
            assert angular_distance(np.rad2deg(np.angle(mean)), centre) < 0.7
            spread = np.rad2deg(np.sqrt(-2 * np.log(np.abs(mean))))
            assert spread == pytest.approx(22.5, abs=0.4)


def test_a_share_is_noisy():
    x = ColourOrientation(20_000, seed=0, noisy=0.15)
    is_noisy = x.hue_noise > 0
    assert is_noisy.mean() == pytest.approx(0.15, abs=0.01)
    assert (x.leg[~is_noisy] == 1).all()
    assert x.hue_noise[is_noisy].mean() == pytest.approx(90, abs=4)
    assert 170 < x.hue_noise.max() <= 180
    legs = x.leg[is_noisy]
    assert legs.mean() == pytest.approx(0.54, abs=0.02)
    assert 0.1 <= legs.min() and legs.max() <= 0.98


@pytest.mark.parametrize("hue", [0, 45, 100, 135, 200, 300, 359])
def test_colour_of_the_shape(hue):
    image = draw_l_shapes([30.0], [hue])[0]
    colours = {tuple(c) for c in image.reshape(-1, 3) if c.max() == 255}
    expected = 255 * np.array(colorsys.hsv_to_rgb(hue / 360, 1, 1))
    assert colours
    for colour in colours:
        np.testing.assert_allclose(colour, expected, atol=1)


def test_shape_by_the_area_of_two_rectangles():
    # 2 legs of 30 x 8 pixels that share a corner of 8 x 8.
    for leg, area in ((1.0, 2 * 30 * 8 - 64), (0.5, 2 * 15 * 8 - 64), (0.1, 9)):
        for angle in (0.0, 33.0, 90.0):
            # A hue of pure red: the first channel is the ink.
            image = draw_l_shapes([angle], [0.0], leg)[0]
            ink = image[..., 0] / 255
            assert ink.sum() == pytest.approx(area, rel=0.03, abs=1.5)
            assert not image[..., 1:].any()


def test_orientation_turns_counterclockwise():
    images = draw_l_shapes([0.0, 90.0, 180.0, 270.0], [10.0] * 4)
    for turns in range(1, 4):
        np.testing.assert_allclose(
            images[turns].astype(int),
            np.rot90(images[0], turns).astype(int),
            atol=1,
        )
    # At 0 degrees the corner is at the lower left.
    ink = images[0].max(axis=-1) > 0
    assert ink[45, 20] and ink[20, 20] and ink[45, 45] and not ink[20, 45]


def test_an_image_depends_only_on_its_index():
    x, again = (ColourOrientation(50, seed=7, noisy=0.5) for _ in range(2))
    rows = np.array([3, 41, 3, 0, -1])
    some = x[rows]
    assert some.shape == (5, 64, 64, 3) and some.dtype == np.uint8
    for image, row in zip(some, rows, strict=True):
        np.testing.assert_array_equal(image, again[row])
        np.testing.assert_array_equal(image, again[:][row])
    other = ColourOrientation(50, seed=8, noisy=0.5)
    assert (other[:] != x[:]).any(axis=(1, 2, 3)).all()
    with pytest.raises(IndexError):
        x[np.array([50])]
    with pytest.raises(TypeError, match="received shape"):
        x[np.array([0.5])]


def test_distorted_images_are_the_same_shapes():
    x = ColourOrientation(40, seed=0)
    noisy = x.distorted(hue_noise=60.0)
    assert (noisy.hue_noise == 60).all() and (noisy.leg == 1).all()
    np.testing.assert_array_equal(noisy.hue, x.hue)
    np.testing.assert_array_equal(noisy.labels, x.labels)
    ink = [images[:8].max(axis=-1) for images in (x.distorted(), noisy)]
    # Hues change, edges do not: the brightest channel is the ink.
    np.testing.assert_array_equal(*ink)
    assert (noisy[:8] != x.distorted()[:8]).any(axis=(1, 2, 3)).all()
    centred = x.distorted(centred=True)
    np.testing.assert_array_equal(centred.orientation, [45, 45, 135, 135] * 10)
    np.testing.assert_array_equal(centred.hue, [45, 135] * 20)
    assert (x.hue != centred.hue).all()
    short = x.distorted(leg=0.2)[:8].max(axis=-1)
    assert (short.sum(axis=(1, 2)) < 0.2 * ink[0].sum(axis=(1, 2))).all()


@pytest.mark.parametrize(
    ("distance", "deviation"), [(90, 22.5), (180, 45), (120, 60), (90, 300)]
)
def test_bayes_accuracy_by_sampling(distance, deviation):
    """The nearer centre, on the circle, for both factors."""
    rng = np.random.default_rng(0)
    right = []
    for _ in range(2):
        angles = rng.normal(0, deviation, 400_000)
        right.append(
            angular_distance(angles, 0) < angular_distance(angles, distance)
        )
    expected = np.mean(right[0] & right[1])
    assert bayes_accuracy(distance, deviation) == pytest.approx(
        expected, abs=0.003
    )


def test_bayes_accuracy_by_integration():
    """The larger of two densities of wrapped Gaussians, added up, squared."""
    angles = np.linspace(0, 360, 200_001)[:-1]
    turns = 360 * np.arange(-5, 6)[:, None]
    densities = [
        np.exp(-0.5 * ((angles - centre + turns) / 22.5) ** 2).sum(axis=0)
        / (22.5 * np.sqrt(2 * np.pi))
        for centre in (45, 135)
    ]
    right = 0.5 * np.maximum(*densities).sum() * 360 / 200_000
    assert bayes_accuracy() == pytest.approx(right**2, abs=1e-6)


def test_ideal_classes_reach_the_bayes_accuracy():
    x = ColourOrientation(100_000, seed=1)
    accuracy = np.mean(x.ideal_classes() == x.labels)
    assert accuracy == pytest.approx(bayes_accuracy(), abs=0.003)


def test_loaded_by_name_and_read_in_batches():
    x, labels = load("colour_orientation", "test")
    assert len(x) == len(labels) == 10_000
    assert not x.hue_noise.any()
    train, _ = load("colour_orientation", "train")
    assert len(train) == 50_000 and train.hue_noise.any()
    indices = tf.data.Dataset.from_tensors(np.array([5, 2], np.int32))
    ((images, found),) = batches(x, labels, indices)
    np.testing.assert_array_equal(images, x[np.array([5, 2])])
    assert found.numpy().tolist() == [1, 2]
    with pytest.raises(ValueError, match="expected one of train, validation"):
        load("colour_orientation", "dev")
    with pytest.raises(ValueError, match="has one label; received label='hue'"):
        load("colour_orientation", "test", label="hue")
    _, labels = load("colour_orientation", "test")
    _, names = load("colour_orientation", "test", label="class")
    assert names[:9].tolist() == [str(label) for label in labels[:9]]
