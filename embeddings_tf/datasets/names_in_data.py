"""Checks of names of classes and splits in data of the user's own."""

import unicodedata
from collections.abc import Callable

import numpy as np

# Characters without width, which pasted texts have at their ends. Within a word
# of some scripts they have a meaning.
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff"


def normalized(texts) -> list[str]:
    """Returns texts that are equal if they look equal, such as é and e + ´."""
    return [unicodedata.normalize("NFC", text) for text in texts]


def require_not_empty(cells: np.ndarray, where: Callable[[int], str]) -> None:
    """Raises ValueError if a text is empty.

    Args:
        cells: Texts `(rows,)`.
        where: Function that names the place of a row, for messages.
    """
    empty = np.flatnonzero(np.char.strip(cells) == "")
    if len(empty):
        raise ValueError(
            f"{where(int(empty[0]))} is empty; fill it, or leave it out."
        )


def require_no_blanks(cells: np.ndarray, where: Callable[[int], str]) -> None:
    """Raises ValueError if a text has blanks around it, or invisible ones."""
    bare = np.char.strip(np.char.strip(cells, _INVISIBLE))
    rows = np.flatnonzero(bare != cells)
    if len(rows):
        raise ValueError(
            f"{where(int(rows[0]))} is {str(cells[rows[0]])!r}; remove the "
            "blanks around it, also those without width, because it would "
            "differ from the same text without them."
        )


def require_different_splits(place: str, cells: np.ndarray) -> None:
    """Raises ValueError if two splits differ in capital letters alone."""
    known: dict[str, str] = {}
    for split in np.unique(cells).tolist():
        other = known.setdefault(split.lower(), split)
        if other != split:
            raise ValueError(
                f"{place} has the splits {other!r} and {split!r}; give a split "
                "one name."
            )
