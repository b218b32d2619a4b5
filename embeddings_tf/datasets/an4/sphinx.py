"""Reads feature files of CMU Sphinx."""

import os
import pathlib

import numpy as np


def read_features(path: str | os.PathLike, dim: int) -> np.ndarray:
    """Reads a feature file of CMU Sphinx.

    The file starts with the number of values, a big-endian `int32`. The values
    follow, big-endian `float32`, frame after frame.

    Args:
        path: A file `.mfc`.
        dim: Number of values per frame.

    Returns:
        `float32` of shape `(frames, dim)`, at least one frame.

    Raises:
        ValueError: If the file is damaged or has another format.
    """
    content = pathlib.Path(path).read_bytes()
    found = len(content) // 4 - 1
    announced = int.from_bytes(content[:4], "big", signed=True)
    if len(content) % 4 or found < 1 or announced != found or found % dim:
        raise ValueError(
            f"{path} is damaged or not a feature file of Sphinx: expected a "
            f"big-endian number of values, then these values, {dim} a frame; "
            f"it announces {announced} values and has {len(content)} bytes. "
            "Fetch it again."
        )
    values = np.frombuffer(content, ">f4", offset=4).astype(np.float32)
    if not np.isfinite(values).all():
        raise ValueError(
            f"{path} contains NaN or infinity; it is damaged, fetch it again."
        )
    return values.reshape(-1, dim)
