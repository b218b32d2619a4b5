"""Data of the valid calls: 12 rows of 3 classes, and related arrays."""

import atexit
import pathlib
import shutil
import tempfile

import numpy as np

_RNG = np.random.default_rng(7)
Y = np.repeat(np.arange(3, dtype=np.int32), 4)
X = (_RNG.normal(size=(3, 4))[Y] + 0.5 * _RNG.normal(size=(12, 4))).astype(
    np.float32
)
# Means, then variances.
PACKED = np.concatenate(
    [X[:, :2], 0.1 + np.abs(X[:, 2:])], axis=1, dtype=np.float32
)
SCORES = np.array([3, 2.5, 1, 0.5, 2, -1, 0, -2, 0.25, -3], np.float32)
TARGET = np.array([1, 1, 1, 1, 1, 0, 0, 0, 0, 0], bool)
WAVE = (
    3000 * np.sin(np.arange(3200) * 0.3) * np.linspace(0.2, 1, 3200)
).astype(np.float32)
FRAMES = _RNG.normal(size=(9, 3)).astype(np.float32)
IMAGES = _RNG.integers(0, 256, (4, 8, 16, 1)).astype(np.uint8)


def folder() -> pathlib.Path:
    """A new folder that is removed when the process ends."""
    made = pathlib.Path(tempfile.mkdtemp(prefix="hostile"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def rows(first, second, names, **more):
    """Invalid values of two arguments with one row per example."""
    from tests.hostile.values import Expected
    from tests.hostile.values import Hostile

    def pair(text, a, b, expected):
        changes = {
            names[0]: Hostile(text, a, expected, first),
            names[1]: Hostile(text, b, expected, second),
        }
        return text, changes

    return (
        pair("no rows", first[:0], second[:0], Expected.REFUSED),
        pair("one row", first[:1], second[:1], Expected.ANY),
        pair("two rows of one class", first[:2], second[:2], Expected.ANY),
        pair(
            "every row twice",
            np.repeat(first, 2, 0),
            np.repeat(second, 2, 0),
            Expected.ANY,
        ),
        pair(
            "one row too few of the first", first[:-1], second, Expected.REFUSED
        ),
        pair("one row of the first", first[:1], second, Expected.REFUSED),
        pair("one row of the second", first, second[:1], Expected.REFUSED),
    )
