import numpy as np
import pytest
from sklearn import datasets as sklearn_datasets

from embeddings_tf.datasets import n_digit_from_scikit_learn
from embeddings_tf.datasets.n_digit.scikit_learn_digits import SPLITS

CASES = [
    (num_digits, gap) for num_digits in (2, 3) for gap in ("number", "instance")
]


def _digits(images):
    """Splits images of numbers: (images, num_digits) of bytes."""
    count, size, width, _ = images.shape
    cells = images.reshape(count, size, width // size, size)
    cells = cells.transpose(0, 2, 1, 3)
    return [[digit.tobytes() for digit in image] for image in cells]


@pytest.mark.parametrize(("num_digits", "gap"), CASES)
def test_digits_are_real_and_disjoint(num_digits, gap):
    original = sklearn_datasets.load_digits()
    # 16 becomes 255: intensity * 255 / 16, rounded.
    scaled = np.rint(original.images * 255 / 16).astype(np.uint8)
    label_of = {}
    for image, label in zip(scaled, original.target, strict=True):
        label_of[image.tobytes()] = label

    used = {}
    for split in SPLITS[gap]:
        images, labels = n_digit_from_scikit_learn(num_digits, gap, split)
        assert images.dtype == np.uint8 and labels.dtype == np.int32
        assert images.shape == (len(labels), 8, 8 * num_digits, 1)
        assert images.max() == 255
        digits = _digits(images)
        read = [[label_of[digit] for digit in image] for image in digits]
        np.testing.assert_array_equal(
            np.array(read) @ 10 ** np.arange(num_digits)[::-1], labels
        )
        used[split] = {digit for image in digits for digit in image}
    train = used["train"] | used["validation"]
    for split in SPLITS[gap][2:]:
        assert not train & used[split]


@pytest.mark.parametrize(("num_digits", "gap"), CASES)
def test_sizes(num_digits, gap):
    num_train, num_seen, num_unseen = {
        (2, "number"): (70, 70, 30),
        (3, "number"): (700, 100, 100),
        (2, "instance"): (100, 100, None),
        (3, "instance"): (1000, 1000, None),
    }[num_digits, gap]
    expected = {"train": (num_train, 90), "validation": (num_train, 10)}
    if gap == "number":
        expected["test_seen"] = num_seen, 70
        expected["test_unseen"] = num_unseen, 70
    else:
        expected["test"] = num_seen, 70
    classes = {}
    for split, (num_classes, per_class) in expected.items():
        images, labels = n_digit_from_scikit_learn(num_digits, gap, split)
        values, counts = np.unique(labels, return_counts=True)
        assert len(values) == num_classes
        assert set(counts) == {per_class}
        # Sorted by class, and without repeated images in a class.
        assert (np.diff(labels) >= 0).all()
        assert len({(image.tobytes()) for image in images}) > 0.99 * len(images)
        classes[split] = set(values.tolist())
    assert classes["train"] == classes["validation"]
    if gap == "number":
        assert classes["test_seen"] <= classes["train"]
        assert not classes["test_unseen"] & classes["train"]


def test_unseen_classes_are_those_of_the_standard_set():
    _, labels = n_digit_from_scikit_learn(2, "number", "test_unseen")
    # From google/n-digit-mnist, dataset_mnist_2_number_test_unseen.npz
    listed = (
        "2 5 7 8 10 15 19 28 31 38 44 46 51 54 56 57 58 60 62 63 64 66 67 82 "
        "84 86 92 95 97 98"
    )
    assert np.unique(labels).tolist() == [int(n) for n in listed.split()]


def test_always_the_same_and_independent_of_global_randomness():
    np.random.seed(1)
    first, _ = n_digit_from_scikit_learn(2, "number", "train")
    np.random.seed(2)
    second, _ = n_digit_from_scikit_learn(2, "number", "train")
    np.testing.assert_array_equal(first, second)
    validation, _ = n_digit_from_scikit_learn(2, "number", "validation")
    train = {image.tobytes() for image in first}
    assert not any(image.tobytes() in train for image in validation)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((4, "number", "train"), "2 or 3; received 4"),
        ((2, "digit", "train"), "gap must be one of"),
        ((2, "number", "test"), "split must be one of"),
        ((2, "instance", "test_seen"), "split must be one of"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        n_digit_from_scikit_learn(*arguments)
