"""Writes files as a whole."""

import contextlib
import errno
import os
import pathlib
import uuid
from collections.abc import Iterator

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextlib.contextmanager
def atomic_file(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Gives a new file to write to, which then replaces the file of the path.

    A reader sees the complete old or the complete new file, also after a crash.
    If the block raises, the old file stays, and the new one is removed. An
    `OSError` because of a full disk gets the name of the file. A symbolic link
    stays, and its target is replaced or made.

    Args:
        path: The file. The block writes to a hidden file in the same folder,
            beside the target of a link, with the ending of the path.
    """
    target = pathlib.Path(os.path.realpath(path))
    # Processes and threads may write the same file.
    unique = uuid.uuid4().hex[:12]
    temporary = target.with_name(f".{target.stem}.{unique}{path.suffix}")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        if error.errno in _NO_ROOM and error.filename is None:
            error.filename = str(path)  # Python names no file that is open
        raise
    finally:
        temporary.unlink(missing_ok=True)
