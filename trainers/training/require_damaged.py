"""Tells a damaged checkpoint from a fault of the machine."""

import errno
import os
import pathlib
import zipfile
import zlib

from trainers.terminal.machine_fault import NO_ROOM

# Errors of reading a damaged checkpoint. zipfile raises RuntimeError if a
# damaged header names an unknown method of compression.
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    RuntimeError,
    KeyError,
    OSError,
    TypeError,
    ValueError,
)
NO_ACCESS = (errno.EACCES, errno.EMFILE, errno.ENFILE, errno.ENOENT)
NO_ACCESS += (errno.EPERM, errno.EIO, errno.EROFS, errno.ESTALE, errno.ENOMEM)


def require_damaged(error: Exception, path: pathlib.Path) -> None:
    """Checks that a checkpoint that cannot be read is damaged.

    Raises:
        OSError: If the machine is at fault, so that the file may be whole.
    """
    code = error.errno if isinstance(error, OSError) else None
    # Keras unpacks a checkpoint to read it.
    if code in NO_ROOM:
        raise OSError(
            f"no room to unpack {path}: {os.strerror(code)}; make room in the "
            "folder of temporary files (TMPDIR)"
        ) from error
    if code in NO_ACCESS:
        place = f" ({error.filename})" if error.filename else ""
        raise OSError(
            f"cannot read {path}: {error.strerror}{place}; correct this and "
            "start the same command again"
        ) from error
