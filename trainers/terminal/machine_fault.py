"""Recognizes faults of the machine, such as a full disk."""

import errno
import os

_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


def machine_fault(message: str) -> int | None:
    """Returns the number in `errno` of a fault that a message names, or None.

    TensorFlow reports a full disk by errors that are not `OSError` and have no
    number, so the message decides.

    Args:
        message: The message of an error of Python or of TensorFlow.
    """
    for number in _FAULTS:
        if os.strerror(number) in message:
            return number
    return None
