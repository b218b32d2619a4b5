"""Reads characters of the Sprites archive, one MATLAB file each."""

import os

import numpy as np

from embeddings_tf.datasets.sprites import FACTORS
from embeddings_tf.ops.reason_of_damage import reason_of_damage

NUM_ANIMATIONS = 21
FRAME_SHAPE = (60, 60, 3)
# Values of each factor, in the order of FACTORS.
NUM_VALUES = (2, 4, 3, 6, 2, 2, 2)
_NUM_PIXELS = 60 * 60 * 3


def read_character(
    path: str | os.PathLike, animations: tuple[int, ...]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Reads the frames of one character of the Sprites archive.

    A file is MATLAB 7.3, that is HDF5: `labels` of shape `(7, 1)`, and
    `sprites`, 21 references to arrays `(frames, 10800)` of values in 0..1. A
    row of such an array contains channels, columns and rows of one frame.

    Args:
        path: `sprites_<character>.mat`.
        animations: Which of the 21 animations to read.

    Returns:
        Factors, `int32` of shape `(7,)`, see `FACTORS`, and for each animation
        its frames, `uint8` of shape `(frames, 60, 60, 3)`.

    Raises:
        ValueError: If the file is damaged or has another format.
    """
    import h5py

    try:
        with h5py.File(path, "r") as file:
            labels = np.ravel(file["labels"][()])
            references = np.ravel(file["sprites"][()])
            if len(references) != NUM_ANIMATIONS:
                raise ValueError(f"it has {len(references)} animations")
            frames = [
                _to_images(file[references[animation]][()])
                for animation in animations
            ]
        return _checked_factors(labels), frames
    # Errors of h5py for damaged files and for other formats.
    except (KeyError, OSError, RuntimeError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is not a file of the Sprites archive, with 7 labels and "
            f"{NUM_ANIMATIONS} animations of 60 x 60 pixels, or it is damaged "
            f"({error}); unpack it again."
        ) from error


def _to_images(values):
    if values.ndim != 2 or values.shape[1] != _NUM_PIXELS:
        raise ValueError(f"it has frames of shape {values.shape}")
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("it has pixels outside of 0..1")
    pixels = np.rint(values * 255).astype(np.uint8)
    return pixels.reshape(-1, 3, 60, 60).swapaxes(1, 3)


def _checked_factors(labels):
    if labels.shape != (len(FACTORS),) or not all(
        label in range(num_values)
        for label, num_values in zip(labels, NUM_VALUES, strict=True)
    ):
        raise ValueError(f"it has labels {labels.tolist()}")
    return labels.astype(np.int32)


def read_splits(
    path: str | os.PathLike, num_characters: int
) -> dict[str, np.ndarray]:
    """Reads which characters belong to which split.

    Args:
        path: `sprites_splits.mat`, with `trainidx`, `validx` and `testidx`,
            which count from 1.
        num_characters: Number of characters, each in exactly one split.

    Returns:
        Indices of the characters of `"train"`, `"validation"` and `"test"`,
        ascending and counted from 0 like the files.

    Raises:
        ValueError: If the file is damaged or has another format.
    """
    import scipy.io

    names = {"train": "trainidx", "validation": "validx", "test": "testidx"}
    try:
        arrays = scipy.io.loadmat(path, variable_names=list(names.values()))
        splits = {
            split: np.sort(np.ravel(arrays[name]).astype(np.int64)) - 1
            for split, name in names.items()
        }
    # SciPy raises many kinds of errors for damaged files.
    except Exception as error:
        raise ValueError(
            f"{path} is damaged or not sprites_splits.mat of the Sprites "
            f"archive ({type(error).__name__}: {reason_of_damage(error)}); "
            "unpack it again."
        ) from error
    every = np.sort(np.concatenate(list(splits.values())))
    if not np.array_equal(every, np.arange(num_characters)):
        raise ValueError(
            f"{path} must contain each of the characters 1 to {num_characters} "
            "in one split; "
            f"received {len(every)} from {every.min(initial=0) + 1} "
            f"to {every.max(initial=0) + 1}."
        )
    return splits
