"""Writes the answers of a command as JSON or CSV."""

import argparse
import csv
import io
import json
import math
import pathlib

from trainers.workdirs.workdir import write_atomically

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
    arguments: argparse.Namespace,
) -> tuple[pathlib.Path | None, pathlib.Path | None]:
    """Returns the paths of `--output` and `--figure`; None if not given.

    Raises:
        ValueError: If the ending is unknown.
        OSError: If a folder does not exist, or a path is a folder.
    """
    endings = {"output": (".json", ".csv"), "figure": (".png",)}
    output, figure = (
        require_writable(f"--{flag}", value, endings[flag])
        if (value := getattr(arguments, flag, None)) is not None
        else None
        for flag in endings
    )
    return output, figure


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
        OSError: If its folder does not exist, or it is a folder.
    """
    if "\0" in value:
        raise ValueError(
            f"{flag} must be the name of a file, without null characters; "
            f"received {value!r}"
        )
    path = pathlib.Path(value).expanduser()
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
