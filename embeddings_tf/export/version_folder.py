"""Numbered folders of model versions, for TensorFlow Serving."""

import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import tempfile
import time
from collections.abc import Iterator

import numpy as np

_LARGEST_VERSION = 2**63 - 1
# Folders of exports that have not ended.
_UNFINISHED = ".export-"
# Seconds after which an export has ended. Its lock tells, too, but only on
# the same machine where a shared file system keeps locks to itself.
_LONGEST_EXPORT = 24 * 3600


def version_folder(directory: pathlib.Path, version) -> pathlib.Path:
    """Returns the folder of a new version; None: the highest plus one.

    Raises:
        ValueError: If `version` is not a positive integer of 64 bits, if
            TensorFlow cannot load a model from the folder, or if the folder is
            in a version.
        FileExistsError: If the version exists.
    """
    if re.search(r"\[.*\]|\\", os.path.abspath(directory)):
        raise ValueError(
            "`directory` must be a path without [ ] and \\, which TensorFlow "
            "reads as a pattern when it loads a model; received "
            f"{str(directory)!r}."
        )
    _require_outside_versions(directory)
    if version is None:
        taken = [
            int(path.name)
            for path in (directory.iterdir() if directory.is_dir() else ())
            if _is_version(path.name)
        ]
        version = max(taken, default=0) + 1
    if isinstance(version, np.integer):
        version = int(version)
    if (
        isinstance(version, bool)
        or not isinstance(version, int)
        or not 1 <= version <= _LARGEST_VERSION
    ):
        raise ValueError(
            "`version` must be None or an integer from 1 to 2^63 - 1, as "
            f"TensorFlow Serving reads folder names; received {version!r}."
        )
    target = directory / str(version)
    if target.exists():
        raise FileExistsError(
            f"{target} exists; a version is never overwritten. Leave "
            "`version` out for the next one."
        )
    return target


def _require_outside_versions(directory: pathlib.Path) -> None:
    """Raises ValueError if a folder is in a version, which stays as it is."""
    resolved = directory.resolve()
    for place in (resolved, *resolved.parents):
        if os.path.isfile(place / "saved_model.pb"):
            raise ValueError(
                "`directory` must be the folder of a model, with its versions; "
                f"received {str(directory)!r}, in the version {place}. Pass "
                f"{str(place.parent)!r}, or a folder outside it."
            )


def _is_version(name: str) -> bool:
    """Whether TensorFlow Serving reads a folder of this name as a version."""
    is_number = name.isascii() and name.isdigit()  # "²" is a digit, too
    return is_number and int(name) <= _LARGEST_VERSION


@contextlib.contextmanager
def new_folder(target: pathlib.Path) -> Iterator[pathlib.Path]:
    """Gives a folder to write to, which becomes `target`, or is removed.

    Also removes what killed exports have left beside the target.

    Raises:
        FileExistsError: If another process has created the target meanwhile.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(target.parent)
    temporary = pathlib.Path(
        tempfile.mkdtemp(prefix=_UNFINISHED, dir=target.parent)
    )
    lock = os.open(temporary, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield temporary / "model"
        _rename_new(temporary / "model", target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        os.close(lock)


def _remove_leftovers(directory: pathlib.Path) -> None:
    """Removes folders of exports that no process writes any more."""
    for path in directory.glob(f"{_UNFINISHED}{'[a-z0-9_]' * 8}"):
        with contextlib.suppress(OSError):  # they do no harm
            if time.time() - path.stat().st_mtime < _LONGEST_EXPORT:
                continue
            lock = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)


def _rename_new(source: pathlib.Path, target: pathlib.Path) -> None:
    """Renames a folder; fails if another process created the target."""
    try:
        if target.exists():  # POSIX replaces empty folders
            raise FileExistsError(target)
        os.rename(source, target)
    except OSError as error:
        if target.exists():
            raise FileExistsError(
                f"{target} was created by another process during the export; a "
                "version is never overwritten. Export again for the next one."
            ) from error
        raise
