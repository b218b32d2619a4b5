"""Pairs of files or of rows: two arguments, or a table."""

import csv
import os
import pathlib
from collections.abc import Sequence

# Excel writes TRUE and FALSE, Python True and False.
TRUE, FALSE = ("1", "true"), ("0", "false")


def read_pairs(
    files: Sequence[str], table: str | None, are_files: bool = True
) -> dict[str, list]:
    """Returns paths `first` and `second`, and `same` if the table has it.

    Args:
        files: Two files, or none with a table.
        table: Path of a CSV file with the columns `first` and `second`, paths
            from its folder on, and optionally `same`.
        are_files: False: the inputs are names of rows instead of files.

    Raises:
        ValueError: If there are not two files, or the table is damaged.
        OSError: If a file does not exist.
    """
    if (table is None) == (not files):
        raise ValueError("name two files, or --pairs FILE.csv with many pairs")
    if table is None:
        if len(files) != 2:
            raise ValueError(
                f"name two files to compare; received {len(files)}. For many "
                "pairs use --pairs FILE.csv"
            )
        return _checked({"first": files[:1], "second": files[1:]}, are_files)
    path = pathlib.Path(os.path.expanduser(table))
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        # Excel starts a file in UTF-8 with a mark.
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, strict=True)
            _require_different(path, reader.fieldnames or ())
            # It leaves out empty lines, and a cell may have several lines; a
            # row is named by its first one.
            lines, rows = [], []
            for row in reader:
                breaks = sum(str(cell).count("\n") for cell in row.values())
                lines.append(reader.line_num - breaks)
                rows.append(row)
                if None in row:
                    raise ValueError(
                        f"{path}, line {lines[-1]}, has more cells than the "
                        f"{len(reader.fieldnames)} columns; put a cell with "
                        "commas in quotes"
                    )
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a table: {error}") from error
    known = rows[0].keys() if rows else ()
    if not {"first", "second"} <= set(known):
        raise ValueError(
            f"{path} must have rows and the columns first and second; its "
            f"rows: {len(rows)}, its columns: "
            f"{', '.join(map(str, known)) or 'none'}"
        )
    pairs: dict[str, list] = {}
    for side in ("first", "second"):
        pairs[side] = [
            _name(path, row, line, side)
            for line, row in zip(lines, rows, strict=True)
        ]
        if are_files:
            pairs[side] = [os.path.join(path.parent, n) for n in pairs[side]]
    if "same" in known:
        pairs["same"] = [
            _truth(path, row, line)
            for line, row in zip(lines, rows, strict=True)
        ]
    return _checked(pairs, are_files)


def _require_different(table: pathlib.Path, columns: Sequence[str]) -> None:
    repeated = [name for name in columns if columns.count(name) > 1]
    if repeated:
        raise ValueError(
            f"{table} has the column {repeated[0]!r} twice; leave one out"
        )


def _name(table: pathlib.Path, row: dict, line: int, side: str) -> str:
    if not row[side]:
        raise ValueError(f"{table}, line {line}: {side} is empty")
    return row[side]


def _truth(table: pathlib.Path, row: dict, line: int) -> bool:
    value = str(row["same"]).lower()
    if value not in (*TRUE, *FALSE):
        raise ValueError(
            f"{table}, line {line}: same must be 0, 1, true or "
            f"false; received {row['same']!r}"
        )
    return value in TRUE


def _checked(pairs: dict[str, list], are_files: bool) -> dict[str, list]:
    for side in ("first", "second"):
        for name in pairs[side]:
            if are_files and not os.path.isfile(name):
                raise FileNotFoundError(
                    f"there is no file {name}; for rows of a table, name it "
                    "with --data csv:FILE"
                )
    return pairs
