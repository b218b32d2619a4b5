"""Finds the TFDS builders of this library and of TFDS by name."""

import difflib
import importlib
import os
import pathlib

from embeddings_tf.datasets.class_splits import CLASS_SPLITS
from embeddings_tf.datasets.n_digit.scikit_learn_digits import (
    SPLITS as _SCIKIT_LEARN_SPLITS,
)

# Data sets that are made in memory: name -> (digits, gap).
IN_MEMORY = {
    f"n_digit/digits_{num_digits}_{gap}": (num_digits, gap)
    for num_digits in (2, 3)
    for gap in _SCIKIT_LEARN_SPLITS
}
# Data sets that are read in place, from their original files.
IN_PLACE = ("kaldi", "voxceleb1", "voxceleb2")
# A set that is drawn while it is read.
COLOUR_ORIENTATION = "colour_orientation"
# Data of the user's own, as in messages.
OWN_DATA = (
    "image_folder:PATH",
    "audio_folder:PATH",
    "csv:FILE",
    "arrays:FILE.npz",
    "FILE.py:FUNCTION",
)


def own_builders():
    """Returns the names of the builder folders next to this file."""
    files = pathlib.Path(__file__).parent.glob("*/*_dataset_builder.py")
    return sorted(
        file.parent.name
        for file in files
        if file.name == f"{file.parent.name}_dataset_builder.py"
    )


def make_builder(tfds, name, data_dir):
    builder_name, _, config = name.partition("/")
    if builder_name in own_builders():
        module = importlib.import_module(
            f"embeddings_tf.datasets.{builder_name}"
            f".{builder_name}_dataset_builder"
        )
        _check_config(builder_name, config, module.Builder)
        return module.Builder(config=config or None, data_dir=data_dir)
    theirs = set(tfds.list_builders(with_community_datasets=False))
    theirs -= set(own_builders())
    if builder_name not in theirs:
        path = os.path.expanduser(name)
        if os.path.exists(path):
            raise ValueError(_name_of_path(pathlib.Path(path)))
        raise ValueError(unknown_name(builder_name, theirs))
    _check_config(builder_name, config, tfds.builder_cls(builder_name))
    return tfds.builder(name, data_dir=data_dir, try_gcs=False)


def _name_of_path(path):
    """The message for a path without its kind of data."""
    named = {
        ".csv": f"csv:{path}",
        ".npz": f"arrays:{path}",
        ".py": f"{path}:FUNCTION",
    }
    ending = path.suffix.lower()
    if path.is_dir():
        remedy = (
            f"write image_folder:{path} for images, or audio_folder:{path} "
            "for recordings"
        )
    elif ending in named:
        remedy = f"write {named[ending]}"
    else:
        remedy = (
            f"data of your own are {', '.join(OWN_DATA)}: write it as one of "
            "these"
        )
    return f"{str(path)!r} is a path, not the name of a data set; {remedy}."


def unknown_name(name, theirs):
    ours = sorted(
        [
            *own_builders(),
            *IN_PLACE,
            COLOUR_ORIENTATION,
            *OWN_DATA,
        ]
    )
    close = difflib.get_close_matches(name, [*ours, *sorted(theirs)])
    hint = f"; did you mean {' or '.join(close)}?" if close else "."
    return (
        f"Unknown data set {name!r}: expected one of this library "
        f"({', '.join(ours)}), or one of the {len(theirs)} of TensorFlow "
        f"Datasets (tfds.list_builders() lists them){hint}"
    )


def _check_config(builder_name, config, builder_cls):
    # "config:version" and "builder:version" are also names in TFDS.
    config = config.partition(":")[0]
    known = list(builder_cls.builder_configs)
    if not config or config in {key.partition(":")[0] for key in known}:
        return
    known += [
        name.partition("/")[2]
        for name in (*IN_MEMORY, *CLASS_SPLITS)
        if name.startswith(f"{builder_name}/")
    ]
    raise ValueError(
        f"Unknown config {config!r} of the data set {builder_name!r}: expected "
        + (f"one of {', '.join(known)}." if known else "no config at all.")
    )


def unknown_split(name, split, known):
    return (
        f"Unknown split {split!r} of {name!r}: expected one of "
        f"{', '.join(known)}."
    )


def subfolder_if_there(folder, name):
    if folder is not None and (folder / name).is_dir():
        return folder / name
    return folder
