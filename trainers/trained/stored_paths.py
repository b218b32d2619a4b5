"""Paths in files of embeddings: of the inputs, and of the model's run."""

import errno
import functools
import json
import os
import pathlib
from collections.abc import Callable
from collections.abc import Iterable

import numpy as np

from trainers.data.data_name import split_path
from trainers.terminal import command_names
from trainers.trained.trained import require_trained

# What `embed_data` writes into its files.
KIND = "embeddings of embeddings_tf"


def relative_path(workdir: pathlib.Path, file: pathlib.Path) -> str:
    """Returns the path of a run from the folder of a file.

    Both can then be moved together.
    """
    return os.path.relpath(workdir.resolve(), folder_of(file))


def folder_of(file: pathlib.Path) -> str:
    """Returns the folder in which the paths of a file start, without links.

    It is the folder to which a link of the file leads, or the folder of the
    link if the file was made there: if the run that it names is there alone.
    """
    target = os.path.dirname(os.path.realpath(file))
    own = os.path.realpath(os.path.dirname(os.path.abspath(file)))
    if own != target and not _has_run(file, target) and _has_run(file, own):
        return own
    return target


def _has_run(file: pathlib.Path, folder: str) -> bool:
    """Whether the run that a file names is there, from a folder on."""
    try:
        source = read_settings(file).get("source")
    except (OSError, ValueError):
        return False
    return bool(source) and os.path.isfile(
        os.path.join(folder, str(source), "config.json")
    )


def stored_names(
    names: np.ndarray,
    file: pathlib.Path,
    known: Iterable[str] = (),
    *,
    are_files: bool,
    with_data: bool = True,
) -> np.ndarray:
    """Returns names of inputs as a file stores them: paths from its folder on.

    Absolute paths, and names without a path, stay as they are.

    Args:
        names: Names of the inputs.
        file: The file of embeddings.
        known: Names that the file has; an input with one of them, by the same
            or another path, keeps it.
        are_files: Whether the names are paths of files.
        with_data: Whether names of rows have their data, from `full_names`.
    """
    folder = folder_of(file)
    known = np.array([*known])
    shown = shown_names(known, file, with_data=with_data)
    canonical = canonical_names(shown).tolist()
    stored = dict(zip(canonical, known.tolist(), strict=True))

    def from_folder(path):
        return path if os.path.isabs(path) else os.path.relpath(path, folder)

    new = with_paths(
        names, from_folder, with_data=with_data, are_files=are_files
    )
    found = zip(canonical_names(names).tolist(), new.tolist(), strict=True)
    return np.array([stored.get(example, name) for example, name in found])


def stored_data(data: str, file: pathlib.Path) -> str:
    """Returns a name of data as a file stores it: its path from its folder on.

    An absolute path stays as it is.
    """
    before, path, after = split_path(data)
    if path and not os.path.isabs(path):
        path = os.path.relpath(path, folder_of(file))
    return f"{before}{path}{after}"


def full_names(names: np.ndarray, data: str, are_files: bool) -> np.ndarray:
    """Returns names of rows with the data that they are of; paths of files.

    Args:
        names: Names of inputs.
        data: The data.
        are_files: Whether the names are paths of files.
    """
    if are_files:
        return names
    data = "".join(split_path(data))  # with the full path of the home folder
    # A file of a table is the same with and without its kind.
    for kind in ("csv:", "arrays:"):
        data = data.removeprefix(kind)
    return np.array([f"{data} {name}" for name in names.tolist()])


def shown_names(
    names: np.ndarray,
    file: pathlib.Path,
    *,
    with_data: bool = True,
    are_files: bool | None = None,
) -> np.ndarray:
    """Returns stored names with their paths from the current folder on.

    Args:
        names: Names in the file.
        file: The file of embeddings.
        with_data: As for `stored_names`.
        are_files: As for `full_names`; None for a gallery, which may contain
            both: names of files that exist are paths.
    """
    folder = folder_of(file)

    def from_here(path):
        if os.path.isabs(path):
            return path
        return os.path.relpath(os.path.join(folder, path))

    return with_paths(
        names, from_here, folder, with_data=with_data, are_files=are_files
    )


def canonical_names(names: np.ndarray) -> np.ndarray:
    """Returns one name for each example: its path without links."""
    return with_paths(names, os.path.realpath)


def with_paths(
    names: np.ndarray,
    change: Callable[[str], str],
    folder: str = "",
    *,
    with_data: bool = True,
    are_files: bool | None = None,
) -> np.ndarray:
    """Changes the path in each name: of a file, or of the data of a row.

    Args:
        names: Paths, names of rows, or both.
        change: Function from a path to the new path.
        folder: The folder in which paths start; "": the current one.
        with_data: Whether names of rows are `DATA ROW`.
        are_files: As for `shown_names`.
    """

    @functools.cache  # many rows are of one file
    def of_data(word):
        before, path, after = split_path(word, folder)
        return f"{before}{change(path)}{after}" if path else ""

    def of_row(name):
        # Both parts may contain blanks.
        end = name.rfind(" ")
        while end > 0:
            if data := of_data(name[:end]):
                return data + name[end:]
            end = name.rfind(" ", 0, end)
        return name

    def changed(name):
        is_file = are_files
        if is_file is None:
            is_file = os.path.isfile(os.path.join(folder, name))
        if is_file:
            return change(name)
        return of_row(name) if with_data else name

    return np.array([changed(name) for name in names.tolist()])


def workdir_of(path: pathlib.Path, workdir: str | None, command: str) -> str:
    """Returns the run of a file of embeddings, without importing TensorFlow.

    Args:
        path: The file.
        workdir: The folder that the user names; None: the one in the file.
        command: The module that makes such a file, for the message.

    Raises:
        ValueError: If the file is damaged, or the run has no checkpoint.
        OSError: If the file or the run that it names does not exist.
    """
    made_by = command_names.display_name(command)
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no file {path}; make it with {made_by}"
        )
    if path.suffix.lower() == ".parquet":
        flag = "--gallery" if command == "trainers.enroll" else "--output"
        raise ValueError(
            f"{path} is a table for other programs; write {flag} FILE.npz "
            f"with {made_by}"
        )
    if workdir is not None:
        require_trained(workdir)
        return workdir
    try:
        source = read_settings(path)["source"]
    except (KeyError, ValueError):
        raise ValueError(
            f"{path} is damaged or another kind of file; make it with {made_by}"
        ) from None
    folder = folder_of(path) if path.is_symlink() else path.parent
    found = pathlib.Path(folder, source)
    if not source or not (found / "config.json").is_file():
        raise FileNotFoundError(
            f"{path} names the run {found}, which is not there; name its "
            "folder with --workdir"
        )
    require_trained(str(found))
    return str(found)


def is_embeddings(path: pathlib.Path) -> bool:
    """Whether a file is of `embed_data`; False if it is damaged."""
    try:
        return read_settings(path).get("kind") == KIND
    except ValueError:
        return False


def read_settings(path: pathlib.Path) -> dict:
    """Returns the settings of a file, without importing TensorFlow.

    Raises:
        ValueError: If the file is damaged or of another kind.
        OSError: If it cannot be read.
    """
    try:
        with open(path, "rb") as opened:
            file = np.load(opened, allow_pickle=False)
            found = json.loads(str(file["settings"]))
    except MemoryError:
        raise
    except Exception as error:  # NumPy and zipfile raise errors of many types
        # As `reason_of_damage`, whose import would import TensorFlow.
        if getattr(error, "errno", None) not in (None, errno.EINVAL):
            raise
        raise ValueError(f"{path} has no settings") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path} has no settings")
    return found
