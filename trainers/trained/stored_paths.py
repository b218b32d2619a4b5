"""Paths in files of embeddings: of the inputs, and of the model's run."""

import json
import os
import pathlib
import zipfile
from collections.abc import Iterable

import numpy as np

from trainers.data.data_name import absolute_data
from trainers.terminal import command_names
from trainers.trained.trained import require_trained


def relative_path(workdir: pathlib.Path, file: pathlib.Path) -> str:
    """Returns the path of a run from the folder of a file.

    Both can then be moved together.
    """
    return os.path.relpath(workdir.resolve(), file.parent.resolve())


def stored_names(
    names: np.ndarray, file: pathlib.Path, known: Iterable[str] = ()
) -> np.ndarray:
    """Returns paths of inputs as a file stores them: from its folder on.

    Absolute paths, and names that are not files, stay as they are. A file that
    is `known`, in the same or another way, keeps its name.
    """
    folder = file.parent.resolve()
    stored = {
        os.path.realpath(os.path.join(folder, name)): name for name in known
    }
    found = []
    for name in names.tolist():
        if os.path.isfile(name):
            new = name if os.path.isabs(name) else os.path.relpath(name, folder)
            name = stored.get(os.path.realpath(name), new)
        found.append(name)
    return np.array(found)


def full_names(names: np.ndarray, data: str) -> np.ndarray:
    """Returns names of rows with the data that they are of; paths of files."""
    place = absolute_data(data)
    # A file of a table is the same with and without its kind.
    for kind in ("csv:", "arrays:"):
        place = place.removeprefix(kind)
    return np.array(
        [
            name if os.path.isfile(name) else f"{place} {name}"
            for name in names.tolist()
        ]
    )


def shown_names(names: np.ndarray, file: pathlib.Path) -> np.ndarray:
    """Returns stored paths from the current folder on."""
    found, folder = [], file.parent.resolve()
    for name in names.tolist():
        path = os.path.join(folder, name)
        is_relative = not os.path.isabs(name) and os.path.isfile(path)
        found.append(os.path.relpath(path) if is_relative else name)
    return np.array(found)


def places(names: np.ndarray) -> np.ndarray:
    """Names of which each stands for one example: paths without links."""
    return np.array(
        [
            os.path.realpath(n) if os.path.isfile(n) else n
            for n in names.tolist()
        ]
    )


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
    made_by = command_names.program(command)
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
        with open(path, "rb") as opened:
            file = np.load(opened, allow_pickle=False)
            source = json.loads(str(file["settings"]))["source"]
    except (
        EOFError,
        IndexError,
        KeyError,
        TypeError,
        ValueError,
        zipfile.BadZipFile,
    ):
        raise ValueError(
            f"{path} is damaged or another kind of file; make it with {made_by}"
        ) from None
    found = path.parent / source
    if not source or not (found / "config.json").is_file():
        raise FileNotFoundError(
            f"{path} names the run {found}, which is not there; name its "
            "folder with --workdir"
        )
    require_trained(str(found))
    return str(found)
