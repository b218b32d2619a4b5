"""The columns of a table, by what they are."""

import collections
import csv
import os
import pathlib
from typing import NamedTuple

from embeddings_tf.ops.require_no_pipe import require_no_pipe

PATH, LABEL, SPLIT = "path", "label", "split"


class TableColumns(NamedTuple):
    """Names of the columns of a table, in their order."""

    names: list[str]
    factors: list[str]  # label_NAME
    features: list[str]  # none in a table of files


def table_columns(file: str | os.PathLike) -> TableColumns:
    """Reads the first line of a table.

    Raises:
        ValueError: If the names of the columns are missing or occur twice, if
            a name with a meaning has blanks or capital letters, or the file
            is not a table.
        OSError: If the file is missing, or is a pipe or a device.
    """
    file = pathlib.Path(os.path.expanduser(file))
    if not file.exists():
        raise FileNotFoundError(
            f"There is no file {file}; expected csv:FILE with the path of a "
            "table, absolute or from the current folder."
        )
    if file.is_dir():
        raise ValueError(
            f"{file} is a folder; expected csv:FILE with the path of a table. "
            f"For a folder of images, write image_folder:{file}; of "
            f"recordings, audio_folder:{file}."
        )
    require_no_pipe(file)
    try:
        with open(file, encoding="utf-8-sig", newline="") as lines:
            names = next(csv.reader(lines), None)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(not_a_table(file, error)) from error
    if names is None:
        raise ValueError(
            f"{file} is empty; expected a line with the names of the columns."
        )
    if not names:
        raise ValueError(
            f"the first line of {file} is empty; expected the names of the "
            "columns. Remove empty lines."
        )
    if len(names) == 1 and (found := {";", "\t"} & set(names[0])):
        raise ValueError(
            f"{file} has one column, {names[0]!r}, which contains "
            f"{' and '.join(map(repr, sorted(found)))}; separate the cells by "
            "commas."
        )
    counts = collections.Counter(names)
    for name, count in counts.items():
        if not name.strip():
            raise ValueError(
                f"Column {names.index(name) + 1} of {file} has no name in the "
                "first line; name it, or remove it. An index of pandas is not "
                "written by to_csv(..., index=False)."
            )
        if count > 1:
            raise ValueError(
                f"{file} has the column {name!r} {count} times; "
                "expected a different name for each column, in the first line."
            )
        _require_exact(file, name)
    factors = [name for name in names if name.startswith(f"{LABEL}_")]
    features = []
    if PATH not in counts:
        known = {LABEL, SPLIT, *factors}
        features = [name for name in names if name not in known]
    return TableColumns(names, factors, features)


def _require_exact(file, name):
    """Raises for a name such as `Split`, which would have no meaning."""
    meant = name.strip().lower()
    is_factor = name.startswith(f"{LABEL}_") and name == name.strip()
    if name == meant or is_factor:
        return
    if meant in (PATH, LABEL, SPLIT) or meant.startswith(f"{LABEL}_"):
        raise ValueError(
            f"{file} has the column {name!r}; call it {meant!r}, without "
            "blanks and capital letters, or something else."
        )


def not_a_table(file: pathlib.Path, error) -> str:
    """Returns the message for a file that cannot be read as a table."""
    return f"{file} is not a table of text in UTF-8, separated by commas: " + (
        " ".join(str(error).split())
    )
