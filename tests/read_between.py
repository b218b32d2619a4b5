"""Reads what tools have written into a page."""

import pathlib


def read_between(page: pathlib.Path, begin: str, end: str) -> str:
    """Returns the text between the marks, without outer line breaks."""
    _, _, rest = page.read_text(encoding="utf-8").partition(begin)
    return rest.partition(end)[0].strip("\n")
