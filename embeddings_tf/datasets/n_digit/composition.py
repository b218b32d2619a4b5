"""Composes images of numbers from images of digits."""

import numpy as np


def digits_of(numbers, num_digits: int) -> np.ndarray:
    """Returns the decimal digits of numbers, most significant first.

    Args:
        numbers: Integers of shape `(numbers,)`.
        num_digits: Digits per number; smaller numbers get leading zeros.

    Returns:
        Integers of shape `(numbers, num_digits)`.

    Example:

    >>> digits_of([7, 42], num_digits=2)
    array([[0, 7],
           [4, 2]])
    """
    powers = 10 ** np.arange(num_digits - 1, -1, -1)
    return np.asarray(numbers)[:, np.newaxis] // powers % 10


def side_by_side(digit_images, image_ids) -> np.ndarray:
    """Concatenates digits horizontally to images of numbers.

    Args:
        digit_images: Array of shape `(digits, height, width)`.
        image_ids: Integers of shape `(numbers, num_digits)`: which digits form
            each number, from left to right.

    Returns:
        Array of shape `(numbers, height, width * num_digits, 1)`.
    """
    count, num_digits = image_ids.shape
    _, height, width = digit_images.shape
    # (numbers, digit, row, column) -> (numbers, row, digit, column)
    images = digit_images[image_ids].transpose(0, 2, 1, 3)
    return images.reshape(count, height, width * num_digits, 1)
