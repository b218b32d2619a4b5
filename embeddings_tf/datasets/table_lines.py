"""The lines of a table, as editors count them."""

import contextlib
import csv
import os
import pathlib
from collections.abc import Iterator

import numpy as np

from embeddings_tf.datasets.table_columns import not_a_table

_CHUNK = 2**20  # bytes


@contextlib.contextmanager
def cells_of_any_length() -> Iterator[None]:
    """Lets `csv.reader` read long cells, as pandas does."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def table_lines(file: str | os.PathLike, num_rows: int) -> np.ndarray:
    """Returns the line in which each row begins, from 2 on, `(num_rows,)`.

    Cells in quotation marks may contain line breaks.
    """
    if _count_lines(file) == num_rows + 1:  # with the names of the columns
        return np.arange(num_rows) + 2
    lines = []
    with (
        cells_of_any_length(),
        open(file, encoding="utf-8-sig", newline="") as text,
    ):
        rows = csv.reader(text)
        next(rows)
        before = rows.line_num
        for _ in rows:
            lines.append(before + 1)
            before = rows.line_num
    return np.array(lines, int)


def require_no_null_character(file: pathlib.Path) -> None:
    """Raises ValueError if a table contains a null character.

    NumPy drops it at the end of a text, so two classes could become one.
    """
    line = 1
    for chunk in _chunks(file):
        place = chunk.find(b"\0")
        if place >= 0:
            line += chunk.count(b"\n", 0, place)
            raise ValueError(
                not_a_table(
                    file, f"line {line} contains a null character; remove it."
                )
            )
        line += chunk.count(b"\n")


def _chunks(file) -> Iterator[bytes]:
    with open(file, "rb") as content:
        while chunk := content.read(_CHUNK):
            yield chunk


def _count_lines(file) -> int:
    count, last = 0, b"\n"
    for chunk in _chunks(file):
        count += chunk.count(b"\n")
        last = chunk[-1:]
    return count + (last != b"\n")
