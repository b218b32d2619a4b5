"""Builds n-digit numbers from the handwritten digits of scikit-learn."""

from numbers import Integral

import numpy as np

from embeddings_tf.datasets.n_digit.composition import digits_of
from embeddings_tf.datasets.n_digit.composition import side_by_side

# The test classes of the standard 2-digit MNIST set.
_UNSEEN_2_DIGIT_NUMBERS = (
    *(2, 5, 7, 8, 10, 15, 19, 28, 31, 38, 44, 46, 51, 54, 56),
    *(57, 58, 60, 62, 63, 64, 66, 67, 82, 84, 86, 92, 95, 97, 98),
)
_SEED = 714
_TEST_DIGITS = 70  # test images of every digit
_TRAIN_INSTANCES = 90
_VALIDATION_INSTANCES = 10
_TEST_INSTANCES = 70
_MAX_INTENSITY = 16

SPLITS = {
    "number": ("train", "validation", "test_seen", "test_unseen"),
    "instance": ("train", "validation", "test"),
}


def n_digit_from_scikit_learn(
    num_digits: int, gap: str, split: str
) -> tuple[np.ndarray, np.ndarray]:
    """Builds a small n-digit data set of real handwriting, without a download.

    Use it if the standard MNIST sets are too large or not available: for
    demonstrations, tests and first experiments. It follows the construction of
    the standard sets, with the 1,797 digits of 8 x 8 pixels in scikit-learn.
    It is made in memory, and is the same each time.

    For each digit, 70 images are reserved for the test, and the other 104 to
    113 images form the train and validation images. No image of a digit
    occurs in both. Within one class and position no image of a digit occurs
    twice. As in the standard sets, train and validation share images of digits
    in different combinations.

    Every class has 90 train, 10 validation and 70 test instances. Gap
    `"number"`: 2 digits have 70 classes in `train`, `validation` and
    `test_seen`, and the other 30 in `test_unseen`, the same classes as the
    standard MNIST set; 3 digits have 700 classes in `train` and `validation`,
    100 of them in `test_seen`, and 100 of the other 300 in `test_unseen`. Gap
    `"instance"`: all `10 ** num_digits` classes in `train`, `validation` and
    `test`.

    Args:
        num_digits: Digits per number, 2 or 3.
        gap: `"number"` or `"instance"`.
        split: `"train"`, `"validation"`, and `"test_seen"` or `"test_unseen"`
            (gap `"number"`) or `"test"` (gap `"instance"`).

    Returns:
        Images, `uint8` of shape `(images, 8, 8 * num_digits, 1)` in 0..255,
        and labels, `int32` of shape `(images,)`, the numbers; class by class.

    Raises:
        ValueError: If the number of digits, the gap or the split is unknown.

    Reference:

    - [google/n-digit-mnist](https://github.com/google/n-digit-mnist)
    - [Alpaydin and Kaynak, 1998, Optical Recognition of Handwritten Digits](
      https://doi.org/10.24432/C50P49)

    Example:

    >>> images, labels = embeddings_tf.datasets.n_digit_from_scikit_learn(
    ...     2, "number", "test_unseen"
    ... )
    >>> images.shape
    (2100, 8, 16, 1)
    """
    if not isinstance(num_digits, Integral) or num_digits not in (2, 3):
        raise ValueError(f"num_digits must be 2 or 3; received {num_digits!r}.")
    if not isinstance(gap, str) or gap not in SPLITS:
        raise ValueError(
            f"gap must be one of {list(SPLITS)}; received {gap!r}."
        )
    if not isinstance(split, str) or split not in SPLITS[gap]:
        raise ValueError(
            f"split must be one of {list(SPLITS[gap])} for the gap {gap!r}; "
            f"received {split!r}."
        )
    # Imported here because it is heavy and only this function needs it.
    from sklearn import datasets as sklearn_datasets

    digits = sklearn_datasets.load_digits()
    images = np.round(digits.images * (255 / _MAX_INTENSITY)).astype(np.uint8)
    train_pools, test_pools = _digit_pools(digits.target)
    numbers = _numbers(num_digits, gap, split)
    if split in ("train", "validation"):
        # Drawn together, so that instances of a class differ in both.
        image_ids = _draw_image_ids(
            train_pools,
            numbers,
            num_digits,
            num_instances=_TRAIN_INSTANCES + _VALIDATION_INSTANCES,
            draw=0,
        )
        first, last = (
            (0, _TRAIN_INSTANCES)
            if split == "train"
            else (_TRAIN_INSTANCES, None)
        )
        image_ids = image_ids[:, first:last]
    else:
        image_ids = _draw_image_ids(
            test_pools,
            numbers,
            num_digits,
            num_instances=_TEST_INSTANCES,
            draw=1 + SPLITS[gap].index(split),
        )
    labels = np.repeat(numbers, image_ids.shape[1]).astype(np.int32)
    return side_by_side(images, image_ids.reshape(-1, num_digits)), labels


def _digit_pools(digit_labels):
    """Splits the images of every digit into train and test images."""
    # RandomState is frozen: every version of NumPy draws the same numbers.
    random = np.random.RandomState(_SEED)
    train_pools = []
    test_pools = []
    for digit in range(10):
        image_ids = random.permutation(np.flatnonzero(digit_labels == digit))
        test_pools.append(image_ids[:_TEST_DIGITS])
        train_pools.append(image_ids[_TEST_DIGITS:])
    return train_pools, test_pools


def _numbers(num_digits, gap, split):
    """Returns the classes of a split, in ascending order."""
    every_number = np.arange(10**num_digits)
    if gap == "instance":
        return every_number
    if num_digits == 2:
        unseen = np.array(_UNSEEN_2_DIGIT_NUMBERS)
        seen = np.setdiff1d(every_number, unseen)
        return unseen if split == "test_unseen" else seen
    shuffled = np.random.RandomState(_SEED).permutation(every_number)
    seen, unseen = shuffled[:700], shuffled[700:]
    return np.sort(
        {"test_seen": seen[:100], "test_unseen": unseen[:100]}.get(split, seen)
    )


def _draw_image_ids(pools, numbers, num_digits, num_instances, draw):
    """Draws digit images, without replacement within a class and position."""
    random = np.random.RandomState((_SEED, num_digits, draw))
    image_ids = np.empty((len(numbers), num_instances, num_digits), np.int64)
    for row, digits in enumerate(digits_of(numbers, num_digits)):
        for position, digit in enumerate(digits):
            image_ids[row, :, position] = random.permutation(pools[digit])[
                :num_instances
            ]
    return image_ids
