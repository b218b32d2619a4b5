"""Names of data: from the root on, and whether two are of the same data."""

import os


def split_path(word: str, folder: str = "") -> tuple[str, str, str]:
    """Splits a name of data into the text before its path, the path, the rest.

    Args:
        word: A path, or a name of data such as `csv:FILE`.
        folder: The folder in which the path starts; "": the current one.

    Returns:
        The parts; the second is "" if the name has no existing path.
    """
    path = os.path.expanduser(word)
    if os.path.exists(os.path.join(folder, path)):
        return "", path, ""
    first, colon, last = word.partition(":")
    path = os.path.expanduser(last)
    if last and os.path.exists(os.path.join(folder, path)):  # csv:FILE
        return f"{first}:", path, ""
    path = os.path.expanduser(first)
    if colon and os.path.isfile(os.path.join(folder, path)):
        return "", path, f":{last}"  # FILE.py:FUNCTION
    return word, "", ""


def absolute_data(word: str) -> str:
    """Returns a path, or a name of data such as `csv:FILE`, from the root on.

    Names without an existing path stay as they are.
    """
    before, path, after = split_path(word)
    return f"{before}{path and os.path.abspath(path)}{after}"


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
