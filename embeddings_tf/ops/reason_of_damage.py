"""Tells a damaged file from a fault of the machine that reads it."""

import errno


def reason_of_damage(error: Exception) -> str:
    """Returns why a file cannot be read, in one line.

    Args:
        error: What reading raised; zipfile and NumPy raise errors of many
            types for damaged files.

    Raises:
        MemoryError: The error, if the memory is full.
        OSError: The error, if the machine prevents reading. EINVAL is damage:
            an offset in the file points to a place before its start.
    """
    if isinstance(error, MemoryError) or getattr(error, "errno", None) not in (
        None,
        errno.EINVAL,
    ):
        raise error
    return " ".join(str(error).split()) or type(error).__name__
