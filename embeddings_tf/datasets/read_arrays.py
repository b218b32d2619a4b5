"""Reads arrays with labels from one file."""

import os
import pathlib

import numpy as np

from embeddings_tf.datasets.names_in_data import require_different_splits
from embeddings_tf.datasets.source import Source
from embeddings_tf.datasets.source_of_arrays import checked_names
from embeddings_tf.datasets.source_of_arrays import source_of_arrays
from embeddings_tf.ops.listed import listed
from embeddings_tf.ops.read_npz import read_npz
from embeddings_tf.ops.require_no_pipe import require_no_pipe

_KNOWN = ("x", "labels", "class_names", "split")


def read_arrays(file: str | os.PathLike) -> Source:
    """Reads examples and labels from a file of `numpy.savez`.

    `load("arrays:FILE.npz", split)` calls it. Nothing is unpickled.

    | array | shape and type |
    |---|---|
    | `x` | `(examples, ...)`: numbers, such as features or images |
    | `labels` | `(examples,)` or `(examples, factors)`: integers or text |
    | `class_names` | optional, `(classes,)`: text, names of label 0, 1, ... |
    | `split` | optional, `(examples,)`: text, the split of each example |

    Args:
        file: The file, `*.npz`.

    Returns:
        The array `x`; `float64` becomes `float32`. Integer labels stay as they
        are; text becomes the position among the sorted names. The column
        `"class"` contains the names of the classes, which by default are the
        labels; `"name"` is the row, "0", "1", ...

    Raises:
        ValueError: If an array is missing, unknown, of another shape or type,
            contains NaN or infinity, or the file is damaged or pickled. If a
            name is empty or has blanks around it, or two splits differ in
            capital letters alone.
        OSError: If the file is missing, or is a pipe or a device.
    """
    file = pathlib.Path(os.path.expanduser(file))
    arrays = _arrays(file)
    unknown = [name for name in arrays if name not in _KNOWN]
    if unknown or not {"x", "labels"} <= set(arrays):
        raise ValueError(
            f"{file} has the arrays {listed(list(arrays)) or 'none'}; expected "
            "x and labels, and optionally class_names and split."
        )
    names, split = arrays.get("class_names"), arrays.get("split")
    source = source_of_arrays(str(file), arrays["x"], arrays["labels"])
    if names is not None:
        if arrays["labels"].dtype.kind == "U":
            raise ValueError(
                f"{file}: class_names are names of the labels 0, 1, ..., but "
                "the labels are text; leave class_names out."
            )
        source = _with_names(source, names)
    if split is not None:
        if split.shape != source.labels.shape[:1] or split.dtype.kind != "U":
            raise ValueError(
                f"{file}: split must be text of shape "
                f"{source.labels.shape[:1]}; received dtype {split.dtype} and "
                f"shape {split.shape}."
            )
        split = checked_names(str(file), "the split of example", split)
        require_different_splits(str(file), split)
        source = source._replace(splits=split)
    return source


def array_names(file: str | os.PathLike) -> list[str]:
    """Returns the names of the arrays in a file, without reading them."""
    path = pathlib.Path(os.path.expanduser(file))
    require_no_pipe(path)
    with np.load(path, allow_pickle=False) as found:
        return list(found.files)


def _arrays(file):
    """Returns the arrays in a file by name."""
    if not file.exists():
        raise FileNotFoundError(
            f"There is no file {file}; expected arrays:FILE.npz with the path "
            "of a file, absolute or from the current folder."
        )
    require_no_pipe(file)
    try:
        with open(file, "rb") as stream:
            return read_npz(stream)
    except ValueError as error:
        raise ValueError(
            f"{file} is not a complete file of numpy.savez without pickled "
            f"objects ({error}); write it with np.savez(FILE, x=x, "
            "labels=labels), text as labels.astype(str)."
        ) from error


def _with_names(source, names):
    """Names the classes of integer labels."""
    labels, file = source.labels, source.place
    if names.ndim != 1 or names.dtype.kind != "U" or labels.ndim != 1:
        raise ValueError(
            f"{file}: class_names must be text of shape (classes,), for labels "
            f"of shape (examples,); received dtype {names.dtype}, shape "
            f"{names.shape} and labels of shape {labels.shape}."
        )
    names = checked_names(str(file), "the name of class", names)
    if len(set(names.tolist())) < len(names):
        raise ValueError(f"{file}: class_names has a name twice.")
    if labels.min() < 0 or labels.max() >= len(names):
        raise ValueError(
            f"{file}: class_names has {len(names)} names, but labels are from "
            f"{labels.min()} to {labels.max()}; expected 0 to {len(names) - 1}."
        )
    counts = np.bincount(labels, minlength=len(names))
    if not counts.all():
        name = str(names[np.argmin(counts)])
        raise ValueError(
            f"{file}: the class {name!r} has no examples, label "
            f"{np.argmin(counts)}; add some, or remove its name."
        )
    return source._replace(columns={**source.columns, "class": names[labels]})
