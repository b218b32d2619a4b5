"""Checks of the files that a command will write."""

import os
import pathlib
from collections.abc import Iterable
from collections.abc import Mapping

from trainers.data.data_name import split_path
from trainers.workdirs.require_outside_data import require_outside_data
from trainers.workdirs.try_to_write import require_can_write


def writable_file(flag: str, value: str, endings: tuple) -> pathlib.Path:
    """Returns the path of a file that a command will write at its end.

    Raises:
        ValueError: If the ending is unknown.
        OSError: If its folder does not exist, it is a folder, or nothing can
            be written there.
    """
    if "\0" in value:
        raise ValueError(
            f"{flag} must be the name of a file, without null characters; "
            f"received {value!r}"
        )
    path = pathlib.Path(os.path.expanduser(value))
    if path.suffix.lower() not in endings:
        raise ValueError(
            f"{flag} {value}: the name must end in {' or '.join(endings)}"
        )
    if path.is_dir():
        raise IsADirectoryError(f"{flag} {value} is a folder; name a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{flag} {value}: there is no folder {path.parent}; make it first"
        )
    require_can_write(f"{flag} {value}", path, "name another file")
    return path


def require_not_read(
    written: Mapping[str, pathlib.Path | None], words: Iterable[str]
) -> None:
    """Checks that a command does not replace or add to what it reads.

    Args:
        written: Files and folders that the command will write, by their flags.
        words: Files and names of data that it reads.

    Raises:
        ValueError: If a file is both, by the same or another path, or a
            picture or a folder will be in a folder of data.
    """
    there = {k: path for k, path in written.items() if path and path.exists()}
    # Readers of folders ignore the files of `--output`.
    added = {k: p for k, p in written.items() if p and k != "--output"}
    for word in words if there or added else ():
        _, read, _ = split_path(word)
        if os.path.isdir(read):
            for flag, path in added.items():
                require_outside_data(flag, str(path), f"image_folder:{read}")
        for flag, path in there.items():
            if read and os.path.samefile(path, read):
                raise ValueError(
                    f"{flag} {path} is also an input, which it would replace; "
                    "name another file"
                )
