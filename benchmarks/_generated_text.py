"""Text of a page that a script writes, between two marks."""

import pathlib

from trainers.workdir import write_atomically


def read_between(page: pathlib.Path, begin: str, end: str) -> str:
    """What stands between the marks, without the line breaks around it."""
    return page.read_text().partition(begin)[2].partition(end)[0].strip("\n")


def write_between(page: pathlib.Path, begin: str, end: str, text: str) -> None:
    """Puts `text` in the place of what stands between the marks."""
    head, _, rest = page.read_text().partition(begin)
    _, _, tail = rest.partition(end)
    write_atomically(page, f"{head}{begin}\n{text}\n{end}{tail}")
