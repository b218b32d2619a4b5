"""Names of data: from the root on, and whether two are of the same data."""

import os


def absolute_data(word: str) -> str:
    """Returns a path, or a name of data such as `csv:FILE`, from the root on.

    Names without an existing path stay as they are.
    """
    if os.path.exists(os.path.expanduser(word)):
        return os.path.abspath(os.path.expanduser(word))
    first, colon, last = word.partition(":")
    if os.path.exists(os.path.expanduser(last)):  # csv:FILE
        last = os.path.abspath(os.path.expanduser(last))
    elif colon and os.path.isfile(os.path.expanduser(first)):
        first = os.path.abspath(os.path.expanduser(first))  # FILE.py:FUNCTION
    return f"{first}{colon}{last}"


def is_same_data(word: str, dataset: str) -> bool:
    """Whether two names are of the same data, by the same or other paths."""
    word, dataset = absolute_data(word), absolute_data(dataset)
    first, _, last = word.partition(":")
    other_first, _, other_last = dataset.partition(":")
    return (
        word == dataset
        # csv:FILE
        or (first == other_first and _is_same_file(last, other_last))
        # FILE.py:FUNCTION
        or (last == other_last and _is_same_file(first, other_first))
    )


def _is_same_file(path: str, other: str) -> bool:
    both_exist = os.path.exists(path) and os.path.exists(other)
    return both_exist and os.path.samefile(path, other)
