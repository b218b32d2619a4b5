"""Writes a number with its noun in a message."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """Returns "1 class" or "2 classes"; the usual plural ends in s."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"
