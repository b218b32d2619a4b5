"""Writes the answers of a command as JSON or CSV."""

import argparse
import csv
import io
import json
import math
import os
import pathlib
from collections.abc import Iterable
from collections.abc import Mapping

from trainers.data.data_name import split_path
from trainers.workdirs.json_files import write_atomically
from trainers.workdirs.require_outside_data import require_outside_data
from trainers.workdirs.try_to_write import require_can_write

# More lines of answers are not printed.
MOST_LINES = 1000


def add_answers(parser: argparse.ArgumentParser, picture: str = "") -> None:
    """Adds `--output`, and `--figure` with what the picture shows."""
    parser.add_argument(
        "--output", metavar="FILE", help="also write FILE.json or FILE.csv"
    )
    if picture:
        parser.add_argument("--figure", metavar="FILE.png", help=picture)


def answers_paths(
    output: str | None, figure: str | None, read: Iterable[str | None]
) -> tuple[pathlib.Path | None, pathlib.Path | None]:
    """Returns the paths of `--output` and `--figure`; None if not given.

    Args:
        output, figure: The values of the flags, or None.
        read: Files and names of data that the command reads, or None.

    Raises:
        ValueError: If the ending is unknown, or the file is also an input.
        OSError: As `require_writable`.
    """
    written = {
        flag: None if value is None else require_writable(flag, value, endings)
        for flag, value, endings in (
            ("--output", output, (".json", ".csv")),
            ("--figure", figure, (".png",)),
        )
    }
    require_not_read(written, filter(None, read))
    return written["--output"], written["--figure"]


def require_not_read(
    written: Mapping[str, pathlib.Path | None], words: Iterable[str]
) -> None:
    """Checks that a command does not replace or add to what it reads.

    Args:
        written: Files and folders that the command will write, by their flags.
        words: Files and names of data that it reads.

    Raises:
        ValueError: If a file is both, by the same or another path, or a
            picture or a folder will be in a folder of data.
    """
    there = {k: path for k, path in written.items() if path and path.exists()}
    # Readers of folders ignore the files of `--output`.
    added = {k: p for k, p in written.items() if p and k != "--output"}
    for word in words if there or added else ():
        _, read, _ = split_path(word)
        if os.path.isdir(read):
            for flag, path in added.items():
                require_outside_data(flag, str(path), f"image_folder:{read}")
        for flag, path in there.items():
            if read and os.path.samefile(path, read):
                raise ValueError(
                    f"{flag} {path} is also an input, which it would replace; "
                    "name another file"
                )


def print_more(count: int, what: str) -> None:
    """Says how many answers were not printed, if any."""
    if count > MOST_LINES:
        print(
            f"... and {count - MOST_LINES} more; --output FILE.csv has every "
            f"{what}"
        )


def require_writable(flag: str, value: str, endings: tuple) -> pathlib.Path:
    """Returns the path of a file that a command will write at its end.

    Raises:
        ValueError: If the ending is unknown.
        OSError: If its folder does not exist, it is a folder, or nothing can
            be written there.
    """
    if "\0" in value:
        raise ValueError(
            f"{flag} must be the name of a file, without null characters; "
            f"received {value!r}"
        )
    path = pathlib.Path(os.path.expanduser(value))
    if path.suffix.lower() not in endings:
        raise ValueError(
            f"{flag} {value}: the name must end in {' or '.join(endings)}"
        )
    if path.is_dir():
        raise IsADirectoryError(f"{flag} {value} is a folder; name a file")
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{flag} {value}: there is no folder {path.parent}; make it first"
        )
    require_can_write(f"{flag} {value}", path, "name another file")
    return path


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
