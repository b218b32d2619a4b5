import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.datasets import degrade
from embeddings_tf.datasets.degrade import KINDS
from trainers.config.evaluation_fields import Uncertainty


def images(count=6, height=12, width=16, channels=3, dtype="float32"):
    rng = np.random.default_rng(0)
    shape = count, height, width, channels
    return rng.integers(0, 256, shape).astype(dtype)


@pytest.mark.parametrize("kind", KINDS)
def test_pure_function_of_images_strength_and_seed(kind):
    x = images(dtype="uint8")
    strength = np.array([0, 0.2, 0.4, 0.6, 0.8, 1], "float32")
    found = degrade(x, kind, strength, (1, 2))
    assert found.dtype == tf.uint8
    assert found.shape == x.shape
    np.testing.assert_array_equal(found[0], x[0])
    assert all((found[i].numpy() != x[i]).any() for i in range(1, 6))
    np.testing.assert_array_equal(degrade(x, kind, strength, (1, 2)), found)
    if kind != "contrast":  # nothing is random there
        other = degrade(x, kind, strength, (1, 3))
        deterministic = kind in ("pixelation", "blur")
        assert (other.numpy() == found.numpy()).all() == deterministic
    step = tf.function(
        lambda x, strength: degrade(x, kind, strength, (1, 2)),
        input_signature=[
            tf.TensorSpec((None, 12, 16, 3), tf.uint8),
            tf.TensorSpec((None,), tf.float32),
        ],
    )
    # Rounding may differ by one grey level between a graph and eager mode.
    assert np.abs(step(x, strength) - found.numpy().astype(int)).max() <= 1


def test_evaluation_names_every_kind():
    assert Uncertainty().kinds == (*KINDS,)


@pytest.mark.parametrize("kind", ["occlusion", "stripes"])
def test_share_of_hidden_pixels(kind):
    strength = np.linspace(0, 1, 200).astype("float32")
    white = np.full((200, 64, 64, 1), 255, "uint8")
    hidden = (degrade(white, kind, strength, (0, 0)).numpy() == 0).mean(
        axis=(1, 2, 3)
    )
    # A rectangle ends between pixels, a stripe at the edge of the image.
    assert np.abs(hidden - strength).max() < 0.25
    assert np.abs(hidden - strength).mean() < 0.04


def test_occlusion_is_a_rectangle():
    white = np.full((20, 32, 32, 1), 255, "uint8")
    for image in degrade(white, "occlusion", 0.3, (0, 4)).numpy()[..., 0]:
        rows = (image == 0).any(axis=1)
        columns = (image == 0).any(axis=0)
        np.testing.assert_array_equal(image == 0, rows[:, None] & columns)
        for side in (rows, columns):
            assert np.abs(np.diff(side.astype(int))).sum() <= 2


def test_contrast():
    x = images()
    mean = x.mean(axis=(1, 2, 3), keepdims=True)
    found = degrade(x, "contrast", 0.25, (0, 0))
    np.testing.assert_allclose(found, 0.75 * x + 0.25 * mean, rtol=1e-5)


def test_brightness_moves_towards_black_or_white():
    x = images(count=40)
    found = degrade(x, "brightness", 0.5, (0, 0)).numpy()
    ends = {
        end: [np.allclose(found[i], (x[i] + end) / 2) for i in range(40)]
        for end in (0, 255)
    }
    assert np.logical_xor(ends[0], ends[255]).all()
    assert 5 < np.sum(ends[0]) < 35


def test_pixelation_averages_squares():
    x = images(height=8, width=8)
    found = degrade(x, "pixelation", 1.0, (0, 0)).numpy()  # squares of 4
    for row in (0, 4):
        for column in (0, 4):
            square = slice(row, row + 4), slice(column, column + 4)
            mean = x[:, *square].mean(axis=(1, 2), keepdims=True)
            np.testing.assert_allclose(
                found[:, *square], np.broadcast_to(mean, (6, 4, 4, 3)), 1e-4
            )


def test_zooming_out_keeps_the_shrunken_image():
    x = images()
    found = degrade(x, "zooming_out", 0.5, (0, 0)).numpy()
    # Every pixel covers a share of 0.6 ** 2 of its former area.
    np.testing.assert_allclose(
        found.sum(axis=(1, 2)), 0.36 * x.sum(axis=(1, 2)), rtol=1e-4
    )
    # A frame of the rest of each side is black.
    dark = (found.sum(axis=(2, 3)) == 0).sum(axis=1)
    assert (dark >= 12 * 0.4 - 2).all()


def test_waves_roll_rows():
    x = images()
    found = degrade(x, "waves", 1.0, (0, 0)).numpy()
    for i in range(len(x)):
        for row in range(12):
            rolled = [np.roll(x[i, row], k, axis=0) for k in range(-4, 5)]
            assert any((found[i, row] == r).all() for r in rolled)


def test_mixing_takes_another_image():
    x = images()
    other = 2 * degrade(x, "mixing", 1.0, (0, 0)).numpy() - x
    source = [
        int(np.flatnonzero([np.allclose(o, y, atol=1e-3) for y in x])[0])
        for o in other
    ]
    assert sorted(source) == list(range(6))
    assert all(a != b for a, b in enumerate(source))
    one = degrade(x[:1], "mixing", 1.0, (0, 0))
    np.testing.assert_array_equal(one, x[:1])


def test_blur_is_gaussian():
    x = images(count=1, height=6, width=7, channels=1)
    found = degrade(x, "blur", 0.8, (0, 0)).numpy()[0, ..., 0]
    deviation = 0.8 * 6 / 8
    for i in range(6):
        for j in range(7):
            weights = np.exp(
                -(
                    (np.arange(6)[:, None] - i) ** 2
                    + (np.arange(7)[None] - j) ** 2
                )
                / (2 * deviation**2)
            )
            expected = (weights * x[0, ..., 0]).sum() / weights.sum()
            np.testing.assert_allclose(found[i, j], expected, rtol=1e-4)


def test_noise_has_the_stated_deviation():
    grey = np.full((4, 64, 64, 3), 128.0, "float32")
    strength = np.array([0.05, 0.1, 0.15, 0.2], "float32")
    noise = degrade(grey, "noise", strength, (0, 0)).numpy() - grey
    np.testing.assert_allclose(
        noise.std(axis=(1, 2, 3)), 128 * strength, rtol=0.03
    )
    assert np.abs(noise.mean()) < 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "rust"}, "one of 'occlusion'.*received 'rust'"),
        ({"strength": 1.5}, "between 0 and 1"),
        ({"strength": np.ma.masked}, "^`strength` must have no masked"),
        ({"strength": [[0.5]]}, r"\(batch,\); received shape \(1, 1\)"),
        ({"images": np.zeros((2, 8, 8))}, "batch, height, width, channels"),
        ({"seed": 3}, "`seed` must be two integers"),
    ],
)
def test_refuses(arguments, message):
    good = {
        "images": images(),
        "kind": "blur",
        "strength": 0.5,
        "seed": (0, 0),
    }
    with pytest.raises(ValueError, match=message):
        degrade(**good | arguments)
