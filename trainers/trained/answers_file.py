"""Writes the answers of a command as JSON or CSV."""

import csv
import io
import json
import math
import pathlib
from collections.abc import Iterable

from trainers.trained.written_files import require_not_read
from trainers.trained.written_files import writable_file
from trainers.workdirs.json_files import write_atomically

# More lines of answers are not printed.
MOST_LINES = 1000


def answers_paths(
    output: str | None, figure: str | None, read: Iterable[str | None]
) -> tuple[pathlib.Path | None, pathlib.Path | None]:
    """Returns the paths of `--output` and `--figure`; None if not given.

    Args:
        output, figure: The values of the flags, or None.
        read: Files and names of data that the command reads, or None.

    Raises:
        ValueError: If the ending is unknown, or the file is also an input.
        OSError: As `writable_file`.
    """
    written = {
        flag: None if value is None else writable_file(flag, value, endings)
        for flag, value, endings in (
            ("--output", output, (".json", ".csv")),
            ("--figure", figure, (".png",)),
        )
    }
    require_not_read(written, filter(None, read))
    return written["--output"], written["--figure"]


def print_more(count: int, what: str) -> None:
    """Says how many answers were not printed, if any."""
    if count > MOST_LINES:
        print(
            f"... and {count - MOST_LINES} more; --output FILE.csv has every "
            f"{what}"
        )


def write_answers(path: pathlib.Path, columns: dict) -> None:
    """Writes columns of one length as rows, atomically.

    JSON is a list of objects. NaN and infinity become null and empty.
    """
    rows = [
        dict(zip(columns, map(_plain, row), strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
    if path.suffix.lower() == ".json":
        text = json.dumps(rows, indent=2, allow_nan=False, ensure_ascii=False)
        write_atomically(path, _encoded(text + "\n"))
        return
    content = io.StringIO()
    writer = csv.DictWriter(content, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path, _encoded(content.getvalue()))


def _encoded(text: str) -> bytes:
    """Names of files need not be UTF-8."""
    return text.encode("utf-8", "backslashreplace")


def _plain(value):
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
