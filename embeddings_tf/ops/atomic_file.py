"""Writes files as a whole."""

import contextlib
import os
import pathlib
import uuid
from collections.abc import Iterator


@contextlib.contextmanager
def atomic_file(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Gives a new file to write to, which then replaces the file of the path.

    A reader sees the complete old or the complete new file, also after a crash.
    If the block raises, the old file stays, and the new one is removed.

    Args:
        path: The file. The block writes to a hidden file in the same folder,
            with the same ending.
    """
    # Processes and threads may write the same file.
    unique = uuid.uuid4().hex[:12]
    temporary = path.with_name(f".{path.stem}.{unique}{path.suffix}")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
