import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.datasets import batches
from embeddings_tf.datasets import shift_and_mirror


def test_every_shift_and_both_directions():
    image = np.arange(1, 6 * 5 * 2 + 1, dtype=np.uint8).reshape(6, 5, 2)
    padding = 2
    padded = np.pad(image, [(2, 2), (2, 2), (0, 0)])
    allowed = {}
    for top in range(5):
        for left in range(5):
            part = padded[top : top + 6, left : left + 5]
            allowed[part.tobytes()] = top, left, False
            allowed[part[:, ::-1].tobytes()] = top, left, True
    assert len(allowed) == 50
    found = shift_and_mirror(np.stack([image] * 4000), [3, 4], padding)
    assert found.dtype == tf.uint8 and found.shape == (4000, 6, 5, 2)
    seen = [allowed[one.tobytes()] for one in found.numpy()]
    numbers = np.unique(seen, axis=0, return_counts=True)[1]
    # 80 expected each; five standard deviations are 44.
    assert len(numbers) == 50
    assert numbers.min() > 36 and numbers.max() < 124


def test_seeds():
    images = np.random.default_rng(0).uniform(size=(5, 8, 8, 3))
    first = shift_and_mirror(images, [0, 1])
    np.testing.assert_array_equal(first, shift_and_mirror(images, [0, 1]))
    assert (first.numpy() != shift_and_mirror(images, [0, 2]).numpy()).any()


def test_the_dtype_of_the_seed_changes_nothing():
    images = np.random.default_rng(0).uniform(size=(9, 8, 8, 3))
    first = shift_and_mirror(images, np.array([5, 7], np.int32))
    wide = shift_and_mirror(images, np.array([5, 7], np.int64))
    np.testing.assert_array_equal(first, wide)


@pytest.mark.parametrize(
    "images",
    [None, "text", {"a": 1}, [[1], [1, 2]], np.ones((1, 2, 2, 1)) * 1j],
)
def test_no_images(images):
    with pytest.raises(ValueError, match="mages.*received"):
        shift_and_mirror(images, [0, 1])


def test_in_batches():
    x = np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3), dtype=np.uint8)
    indices = tf.data.Dataset.from_tensors(np.array([3, 1], np.int32))
    dataset = batches(
        x, np.arange(6), indices, preprocess=shift_and_mirror, seed=0
    )
    assert dataset.element_spec[0].shape == (2, 8, 8, 3)
    ((batch, _),) = dataset
    assert batch.dtype == tf.uint8 and (batch.numpy() != x[[3, 1]]).any()


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"received shape \(8, 8, 3\)"):
        shift_and_mirror(np.zeros((8, 8, 3)), [0, 0])
    for padding in (-1, 0.5):
        with pytest.raises(
            ValueError, match="`padding` must be an integer of at least 0"
        ):
            shift_and_mirror(np.zeros((1, 8, 8, 3)), [0, 0], padding)
    with pytest.raises(ValueError, match="`padding` must be at most 4096 pix"):
        shift_and_mirror(np.zeros((1, 8, 8, 3)), [0, 0], 2**31)
