"""Divides rows into blocks."""


def blocks(length: int, size: int) -> list[slice]:
    """Returns the slices of consecutive blocks of at most `size` rows."""
    return [
        slice(first, min(first + size, length))
        for first in range(0, length, size)
    ]
