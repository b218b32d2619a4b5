"""Refuses pipes and devices, whose reading may never end."""

import errno
import os
import stat


def require_no_pipe(path: str | os.PathLike) -> None:
    """Raises OSError if a path is neither a file nor a folder, or is missing.

    To open a pipe waits for a writer, and some devices have no end.
    """
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "a pipe or a device, not a file", str(path))
