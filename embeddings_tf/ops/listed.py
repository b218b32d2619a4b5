"""Lists names in a message."""

from collections.abc import Sequence


def listed(words: Sequence[str], most: int = 5) -> str:
    """Returns the first words, and how many more there are."""
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more} more" if more > 0 else "")
