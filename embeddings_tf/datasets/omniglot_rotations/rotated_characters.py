"""Splits, names and images of the rotated characters."""

import functools
import pathlib

import numpy as np
import tensorflow as tf

SIZE = 28
QUARTER_TURNS = range(4)
_LISTS = pathlib.Path(__file__).with_name("characters.tsv")


@functools.cache
def split_of_characters() -> dict[str, str]:
    """Returns the split of every character, by its TensorFlow Datasets name.

    Snell et al. count the characters of an alphabet from 1, TensorFlow
    Datasets from 0: `Angelic/character01` is `Angelic_0`.
    """
    head, *lines = _LISTS.read_text("utf-8").splitlines()
    found = {}
    for line in lines:
        alphabet, *numbers = line.split("\t")
        for split, of_split in zip(head.split("\t")[1:], numbers, strict=True):
            for number in of_split.replace("-", "").split():
                found[f"{alphabet}_{int(number) - 1}"] = split
    return found


def class_name(character: str, quarter_turns: int) -> str:
    """Returns the name of a rotated character in the lists of Snell et al.

    Example:

    >>> class_name("Angelic_0", 1)
    'Angelic/character01/rot090'
    """
    alphabet, _, number = character.rpartition("_")
    degrees = 90 * quarter_turns
    return f"{alphabet}/character{int(number) + 1:02}/rot{degrees:03}"


@functools.cache
def class_names() -> list[str]:
    """Returns the sorted names of all classes; a label is an index of it."""
    return sorted(
        class_name(character, turns)
        for character in split_of_characters()
        for turns in QUARTER_TURNS
    )


def light_on_dark(scans: np.ndarray, quarter_turns: int) -> np.ndarray:
    """Inverts, rotates and resizes scans of dark ink on white paper.

    Args:
        scans: `uint8` of shape `(n, size, size, 1)`.
        quarter_turns: Rotations by 90 degrees, counterclockwise.

    Returns:
        `uint8` of shape `(n, 28, 28, 1)`; the background is 0.
    """
    ink = tf.image.rot90(255 - scans, quarter_turns)
    resized = tf.image.resize(ink, (SIZE, SIZE), antialias=True)
    return tf.cast(tf.round(resized), tf.uint8).numpy()
