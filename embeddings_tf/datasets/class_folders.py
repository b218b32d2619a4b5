"""Lists the files in folders of classes, and their splits."""

import collections
import os
import pathlib
from typing import NamedTuple

import numpy as np

from embeddings_tf.datasets.names_in_data import normalized
from embeddings_tf.datasets.names_in_data import require_no_blanks
from embeddings_tf.ops.listed import listed

SPLITS = ("train", "validation", "test")


class Files(NamedTuple):
    """The kind of files that a folder of classes contains."""

    kind: str  # the prefix of the name: image_folder
    plural: str  # for messages: images
    extensions: tuple[str, ...]
    is_deep: bool  # whether a class may have subfolders
    unread: tuple[str, ...] = ()  # extensions of the same kind of content


class ClassFolders(NamedTuple):
    """Files of all classes, sorted by split, class and name."""

    names: list[str]
    labels: np.ndarray
    classes: np.ndarray
    splits: np.ndarray | None


def list_class_folders(folder: pathlib.Path, files: Files) -> ClassFolders:
    """Lists `class/*.png`, or `train/class/*.png`; opens no file.

    Folders `train`, `validation` or `test` above the classes are the splits. A
    class that is in several splits has the same label in each. Hidden files
    and folders, and files with other extensions, are ignored. Links to files
    and to class folders are followed, except to a folder above the link, to a
    pipe or to a device.

    Raises:
        ValueError: If a class has no files, files are outside of class
            folders, a class has subfolders but may have none, the name of a
            class has blanks around it, or the name of a split has capital
            letters.
        OSError: If the folder does not exist or is a file.
    """
    parts = _parts(folder, files)
    classes = sorted({name for part in parts.values() for name, _ in part})
    number = {name: number for number, name in enumerate(classes)}
    names: list[str] = []
    labels, sizes = [], []
    for part in parts.values():
        first = len(names)
        for name, found in part:
            names += found
            labels.append(np.full(len(found), number[name], np.int32))
        sizes.append(len(names) - first)
    return ClassFolders(
        names,
        np.concatenate(labels),
        np.array(classes),
        None if "" in parts else np.repeat(list(parts), sizes),
    )


def unread_files(folder: pathlib.Path, files: Files) -> dict[str, list[str]]:
    """Returns the files of classes that have an unread extension, by class.

    Args:
        folder: A folder that `list_class_folders` takes. A class of a split is
            named `train/CLASS`.
        files: The kind of files.
    """
    unread = files._replace(extensions=files.unread)
    splits = [""]
    if has_split_folders(folder):
        splits = [split for split in SPLITS if split in _visible(folder)[0]]
    found = {}
    for split in splits:
        for name in _visible(folder / split)[0]:
            names, _ = _files_of_class(folder / split / name, unread)
            if names:
                found[f"{split}/{name}".lstrip("/")] = names
    return found


def has_split_folders(folder: pathlib.Path) -> bool:
    """Whether the folders in a folder are splits instead of classes."""
    folders, _ = _visible(folder)
    named = [split for split in SPLITS if split in folders]
    # A class may also be called "train".
    return bool(named) and (
        len(named) == len(folders)
        or any(_visible(folder / split)[0] for split in named)
    )


def _parts(folder, files):
    """Returns classes and their files by split; `{"": ...}` without splits."""
    if not folder.exists():
        raise FileNotFoundError(
            f"There is no folder {folder}; expected {files.kind}:PATH with the "
            "path of a folder, absolute or from the current folder."
        )
    if not folder.is_dir():
        raise NotADirectoryError(
            f"{folder} is a file; expected a folder with a subfolder for each "
            "class."
        )
    folders, _ = _visible(folder)
    _require_no_capitals(folder, folders)
    if not has_split_folders(folder):
        return {"": _classes(folder, "", files)}
    named = [split for split in SPLITS if split in folders]
    others = [name for name in folders if name not in SPLITS]
    if others:
        raise ValueError(
            f"{folder} has split folders, {listed(named)}, and other folders, "
            f"{listed(others)}; expected only train, validation and test. "
            "Rename or move the other folders."
        )
    return {
        split: _classes(folder / split, f"{split}/", files) for split in named
    }


def _require_no_capitals(folder, names):
    """Raises for a split such as `Train`, which would be taken for a class."""
    for name in names:
        if name in SPLITS or name.lower() not in SPLITS:
            continue
        inner, _ = _visible(folder / name)
        if inner:
            raise ValueError(
                f"{folder / name} contains folders, such as {inner[0]}, so it "
                "is a split and not a class; expected the name "
                f"{name.lower()}. Rename it."
            )


def _classes(folder, prefix, files):
    """Returns pairs of a class and its files, sorted."""
    folders, names = _visible(folder)
    loose = _wanted(names, files)
    if loose:
        raise ValueError(
            f"{folder / loose[0]} is not in the folder of a class; expected "
            f"{folder}/CLASS/{loose[0]}."
        )
    if not folders:
        raise ValueError(
            f"{folder} has no folders of classes; expected "
            f"CLASS/{_extensions(files)} in it, found {_kinds(names)}."
        )
    require_no_blanks(
        np.array(folders), lambda _: f"{folder}: the name of a class"
    )
    classes = collections.defaultdict(list)
    for name in folders:
        found, others = _files_of_class(folder / name, files)
        if not found:
            raise ValueError(
                f"{folder / name} has no {files.plural}; expected "
                f"{_extensions(files)}, found {_kinds(others)}. Add some, or "
                "remove the folder."
            )
        # File systems encode accents differently.
        classes[normalized([name])[0]] += [
            f"{prefix}{name}/{file}" for file in found
        ]
    return sorted(classes.items())


def _files_of_class(folder, files, above=()):
    """Returns the wanted files of a class as paths in it.

    Where there are none, also returns the files that are there instead.
    """
    target = os.path.realpath(folder)
    if target in above:  # links in a circle
        return [], []
    inner, names = _visible(folder)
    if inner and not files.is_deep:
        raise ValueError(
            f"{folder / inner[0]} is a folder within a class; expected only "
            f"{files.plural} in {folder}."
        )
    wanted = _wanted(names, files)
    others = [] if wanted else names
    for name in inner:
        more, more_others = _files_of_class(
            folder / name, files, (*above, target)
        )
        wanted += [f"{name}/{file}" for file in more]
        others += more_others
    return wanted, others


def _visible(folder):
    """Returns names of the folders and files in a folder, without hidden ones.

    Only links need a look at their targets.
    """
    folders, files = [], []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                target = os.path.realpath(entry.path)
                if pathlib.Path(os.path.realpath(folder)).is_relative_to(
                    target
                ):
                    continue
                if os.path.isdir(target):
                    folders.append(entry.name)
                # A missing file is named when it is read; a pipe is not a file.
                elif os.path.isfile(target) or not os.path.exists(target):
                    _require_folder(entry, target)
                    files.append(entry.name)
            elif entry.is_dir():
                folders.append(entry.name)
            elif entry.is_file():
                files.append(entry.name)
    return sorted(folders), sorted(files)


def _require_folder(link, target):
    """Raises FileNotFoundError if a link had a folder as its target.

    Names of folders have no ending such as `.png`; the end of "St. Bernard" or
    "v1.0" is none. Without this error, a class that is not mounted would not be
    missed.
    """
    is_circle = target == os.path.abspath(link.path)
    has_ending = pathlib.PurePath(link.name).suffix[1:].isidentifier()
    if not (os.path.exists(target) or has_ending or is_circle):
        raise FileNotFoundError(
            f"{link.path} is a link to {target}, which does not exist; restore "
            "it, or remove the link."
        )


def _wanted(names, files):
    return [name for name in names if name.lower().endswith(files.extensions)]


def _extensions(files):
    *most, last = [f"*{extension}" for extension in files.extensions]
    return f"{', '.join(most)} or {last}"


def _kinds(names):
    """Lists the numbers of files by extension, for a message."""
    if not names:
        return "nothing"
    kinds = collections.Counter(
        pathlib.PurePath(name).suffix or "without extension" for name in names
    )
    return listed([f"{count} {kind}" for kind, count in kinds.most_common()])
