"""Data of the user's own: folders, files and functions, by name."""

import importlib.util
import os
import pathlib
from collections.abc import Callable

import numpy as np

from embeddings_tf.datasets.class_folders import has_split_folders
from embeddings_tf.datasets.images import Images
from embeddings_tf.datasets.read_arrays import array_names
from embeddings_tf.datasets.read_arrays import read_arrays
from embeddings_tf.datasets.read_audio_folder import read_audio_folder
from embeddings_tf.datasets.read_csv import read_csv
from embeddings_tf.datasets.read_function import read_function
from embeddings_tf.datasets.read_function import returns_all
from embeddings_tf.datasets.read_image_folder import read_image_folder
from embeddings_tf.datasets.source import Source
from embeddings_tf.datasets.source import select
from embeddings_tf.datasets.table_columns import SPLIT
from embeddings_tf.datasets.table_columns import table_columns
from embeddings_tf.datasets.utterances import Utterances
from embeddings_tf.ops.own_code import split_name

_READERS: dict[str, Callable[[str], Source]] = {
    "image_folder": read_image_folder,
    "audio_folder": read_audio_folder,
    "csv": read_csv,
    "arrays": read_arrays,
}


def is_own_data(name: str) -> bool:
    """Whether a name of a data set is a path or a function of the user's."""
    return name.partition(":")[0] in _READERS or split_name(name) is not None


def has_all_examples(name: str) -> bool:
    """Whether a name is data of the user's own with the split `all`."""
    if name.partition(":")[0] in _READERS:
        return True
    if split_name(name) is None:
        return False
    _require_module(name)
    return returns_all(name)


def has_own_splits(name: str) -> bool:
    """Whether data of the user's own is not divided here; reads no examples.

    Args:
        name: Name of data that was read without errors.
    """
    kind, _, path = name.partition(":")
    if kind not in _READERS:
        return not returns_all(name)
    if kind == "csv":
        return SPLIT in table_columns(path).names
    if kind == "arrays":
        return "split" in array_names(path)
    return has_split_folders(pathlib.Path(os.path.expanduser(path)))


def own_data(
    name: str, split: str, label: str | None, divide: str, seed: int
) -> tuple[np.ndarray | Images | Utterances, np.ndarray]:
    """Returns a split of data of the user's own; arguments as for `load`."""
    kind, _, path = name.partition(":")
    if kind not in _READERS:
        _require_module(name)
        return read_function(name, split, label, divide, seed)
    if not path:
        raise ValueError(
            f"{name!r} lacks a path: expected {kind}:PATH, for example "
            f"{kind}:photos."
        )
    return select(_READERS[kind](path), split, label, divide, seed)


def _require_module(name: str) -> None:
    """Raises ValueError if the module of `MODULE:FUNCTION` is missing."""
    source, _, _ = name.rpartition(":")
    module = source.partition(".")[0]
    is_file = source.endswith(".py")
    if not is_file and importlib.util.find_spec(module) is None:
        kinds = ", ".join(f"{kind}:PATH" for kind in _READERS)
        raise ValueError(
            f"{name!r} names a function of the module {module}, which is not "
            f"installed; data of your own is {kinds}, FILE.py:FUNCTION or "
            "MODULE:FUNCTION."
        )
