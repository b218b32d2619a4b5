import inspect

import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf import datasets
from embeddings_tf.datasets import degrade_randomly
from embeddings_tf.datasets.degrade import KINDS
from embeddings_tf.datasets.degrade_randomly import TRAINED_KINDS


def grey(count):
    """Images of one grey level each, which tells their place in the batch."""
    return np.ones((count, 8, 8, 1), "float32") * np.arange(
        20, 20 + count, dtype="float32"
    ).reshape(-1, 1, 1, 1)


def test_keeps_the_order_of_images():
    x = grey(50)
    found = degrade_randomly(x, (0, 1), kinds=("contrast", "waves", "blur"))
    # None of these kinds changes an image of one level.
    np.testing.assert_allclose(found, x, rtol=1e-5)


def test_draws_kind_and_strength_of_each_image():
    x = grey(200)
    found = degrade_randomly(
        x, (0, 1), kinds=("contrast", "occlusion"), probability=0.8
    ).numpy()
    hidden = (found == 0).mean(axis=(1, 2, 3))
    is_hidden = hidden > 0
    # 0.8 / 2 of the images, with a share of hidden pixels from 0 to 1.
    assert 0.3 < is_hidden.mean() < 0.5
    assert hidden[is_hidden].std() > 0.2
    kept = np.where(found == 0, x, found)
    np.testing.assert_allclose(kept, x, rtol=1e-5)


def test_probability_zero_changes_nothing():
    x = np.random.default_rng(0).integers(0, 256, (9, 8, 8, 3), "uint8")
    np.testing.assert_array_equal(
        degrade_randomly(x, (0, 1), probability=0.0), x
    )


def test_leaves_blur_and_noise_out_by_default():
    x = np.random.default_rng(0).integers(0, 256, (300, 8, 8, 1), "uint8")
    every = degrade_randomly(x, (0, 1)).numpy()
    *others, blur, noise = KINDS
    assert (blur, noise) == ("blur", "noise")
    named = degrade_randomly(x, (0, 1), kinds=tuple(others)).numpy()
    np.testing.assert_array_equal(every, named)


def test_the_default_is_every_trained_kind():
    kinds = inspect.signature(degrade_randomly).parameters["kinds"]
    assert kinds.default == TRAINED_KINDS


@pytest.mark.slow
def test_fresh_draws_in_each_batch():
    x = np.random.default_rng(0).integers(0, 256, (10, 8, 8, 3), "uint8")
    labels = np.zeros(10, "int32")
    indices = tf.data.Dataset.from_tensors(np.arange(10, dtype="int32"))
    made = datasets.batches(
        x, labels, indices.repeat(2), preprocess=degrade_randomly, seed=0
    )
    (first, _), (second, _) = made
    assert first.shape == second.shape == (10, 8, 8, 3)
    assert (first.numpy() != second.numpy()).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kinds": ()}, "at least one kind"),
        ({"kinds": ("rust",)}, "received 'rust'"),
        ({"probability": 1.5}, "`probability` must be at most 1"),
        ({"images": np.zeros((8, 8, 3))}, "batch, height, width, channels"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        degrade_randomly(**{"images": grey(2), "seed": (0, 1)} | arguments)
