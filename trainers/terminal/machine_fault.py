"""Recognizes faults of the machine, such as a full disk."""

import errno
import os

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FAULTS = (*NO_ROOM, errno.EIO, errno.EROFS)


def machine_fault(error: BaseException) -> int | None:
    """Returns the number in `errno` of a fault of the machine, or None.

    TensorFlow reports a full disk by errors that are not `OSError` and have no
    number, so their message decides.

    Args:
        error: An error of Python or of TensorFlow.
    """
    if isinstance(error, OSError):
        return error.errno if error.errno in _FAULTS else None
    if not type(error).__module__.startswith("tensorflow"):
        return None
    for number in _FAULTS:
        if os.strerror(number) in str(error):
            return number
    return None
