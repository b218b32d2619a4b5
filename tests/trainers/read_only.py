"""A folder to which nothing can be written; root could write otherwise."""

import errno
import os
import pathlib

MESSAGE = "cannot be written (Read-only file system)"


def make_read_only(folder: pathlib.Path, monkeypatch) -> None:
    """Lets `os.open` refuse new files in a folder, as a mounted disk may."""
    opened, refused = os.open, folder.resolve()

    def refuse(path, flags, *more, **options):
        if (
            flags & os.O_CREAT
            and pathlib.Path(path).resolve().parent == refused
        ):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return opened(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", refuse)
