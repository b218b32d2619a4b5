"""Lets one process at a time change the files of a folder."""

import contextlib
import fcntl
import os
import pathlib
from collections.abc import Callable
from collections.abc import Iterator


@contextlib.contextmanager
def locked_folder(
    folder: pathlib.Path, on_wait: Callable[[], object] = lambda: None
) -> Iterator[None]:
    """Waits for other processes with the same lock; leaves no lock file.

    Args:
        folder: The folder.
        on_wait: Function called if another process has the lock.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
