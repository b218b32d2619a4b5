"""Reads tables: files or features, with labels."""

import csv
import functools
import os
import pathlib

import numpy as np

from embeddings_tf.datasets import image_files
from embeddings_tf.datasets import sound_files
from embeddings_tf.datasets.named_classes import joined
from embeddings_tf.datasets.named_classes import number_names
from embeddings_tf.datasets.names_in_data import normalized
from embeddings_tf.datasets.names_in_data import require_different_splits
from embeddings_tf.datasets.names_in_data import require_no_blanks
from embeddings_tf.datasets.names_in_data import require_not_empty
from embeddings_tf.datasets.source import Source
from embeddings_tf.datasets.table_columns import LABEL
from embeddings_tf.datasets.table_columns import PATH
from embeddings_tf.datasets.table_columns import SPLIT
from embeddings_tf.datasets.table_columns import not_a_table
from embeddings_tf.datasets.table_columns import table_columns
from embeddings_tf.datasets.table_lines import cells_of_any_length
from embeddings_tf.datasets.table_lines import require_no_null_character
from embeddings_tf.datasets.table_lines import table_lines
from embeddings_tf.ops.listed import listed

_TRUTHS = ("true", "false")


def read_csv(file: str | os.PathLike, *, needs_labels: bool = True) -> Source:
    """Reads a table of paths or features, with their labels.

    `load("csv:FILE", split)` calls it. The first line names the columns:

    | column | contains |
    |---|---|
    | `path` | a JPEG, PNG, WAV, FLAC or Ogg file, from the table's folder on |
    | `label` | the class |
    | `label_NAME` | a factor; without `label`, the factors are the labels |
    | `split` | optional: the split of the row |
    | every other column | without `path`, a feature: a number |

    With `path`, `label="COLUMN"` of `load` returns any other column. Names are
    read in the normal form NFC of Unicode, as names of folders are.

    Args:
        file: The table: text in UTF-8, separated by commas.
        needs_labels: Whether a table without labels is refused. If not, all its
            rows have the label 0, whose name is empty.

    Returns:
        `Images`, `Utterances`, or `float32` features of shape `(rows, dim)`.
        Labels are positions among the sorted names of the classes, or for
        each factor among its values. The column `"class"` contains the names;
        of several factors, as "value,value". The column `"name"` contains the
        paths, or "line 2", ...

    Raises:
        ValueError: If a column is missing, occurs twice, or is called name or
            class. If a cell is empty, has blanks around it, or is not a number.
            If two splits differ in capital letters alone, a path occurs twice,
            or the text is not a table.
        OSError: If the file is missing, or is a pipe or a device.
        ImportError: If pandas is not installed.
    """
    file = pathlib.Path(os.path.expanduser(file))
    columns, names, features = table_columns(file)
    require_no_null_character(file)
    label = [LABEL] if LABEL in columns else names
    if needs_labels and not label:
        raise ValueError(
            f"{file} has no column label: expected label, or label_NAME for "
            f"each of several factors; it has {listed(columns)}. Rename the "
            "column that contains the classes."
        )
    is_text = PATH in columns
    if not is_text and not features:
        raise ValueError(
            f"{file} has neither a column path nor columns of features; it has "
            f"{listed(columns)}."
        )
    for name in ("name", "class"):
        # A table of files may repeat its labels as the column class.
        if name in columns and (name == "name" or not is_text):
            raise ValueError(_taken(file, name))
    texts, x = _read(file, columns, features, (*label, *names, PATH, SPLIT))
    num_rows = len(x)
    if not num_rows:
        raise ValueError(f"{file} has no rows below the names of its columns.")

    def in_column(name, row):
        line = table_lines(file, num_rows)[row]
        return f"{file}, line {line}: the column {name}"

    for name in (*label, PATH, SPLIT):
        if name in texts:
            where = functools.partial(in_column, name)
            require_not_empty(texts[name], where)
    for name in (LABEL, *names, PATH, SPLIT):
        if name in texts:
            where = functools.partial(in_column, name)
            require_no_blanks(texts[name], where)
    if SPLIT in texts:
        require_different_splits(str(file), texts[SPLIT])
    of_labels = [texts[name] for name in label] or [np.full(num_rows, "")]
    values = np.stack(of_labels, axis=1)
    numbers = np.stack([number_names(column) for column in values.T], axis=1)
    is_single = label in ([LABEL], [])
    if is_text:
        _require_different(file, texts[PATH])
        x = _files(file, texts[PATH].tolist())
        row_names = texts[PATH]
    else:
        row_names = np.array(
            [f"line {line}" for line in table_lines(file, num_rows)]
        )
    more = {
        name: column
        for name, column in texts.items()
        if name not in (PATH, SPLIT)
    }
    classes = values[:, 0] if is_single else joined(values)
    if "class" in more and not np.array_equal(more["class"], classes):
        raise ValueError(_taken(file, "class"))
    return Source(
        str(file),
        x,
        numbers[:, 0] if is_single else numbers,
        {**more, "class": classes, "name": row_names},
        texts.get(SPLIT),
    )


def _pandas():
    # Imported here because only tables need it.
    try:
        import pandas
    except ImportError as error:
        raise ImportError(
            "Reading a table needs pandas: pip install 'embeddings_tf[tables]'."
        ) from error
    return pandas


def _read(file, columns, features, used):
    """Returns columns of text by name, and features `(rows, dim)`.

    Columns that are not `used` have Python's strings: an array of text would
    give each row the space of the longest.
    """
    pandas = _pandas()
    first = _first_row(file, columns)
    kinds = dict.fromkeys(columns, str) | dict.fromkeys(features, np.float32)
    try:
        with np.errstate(over="ignore"):
            found = _parsed(file, kinds)
    except (UnicodeDecodeError, pandas.errors.ParserError) as error:
        raise ValueError(not_a_table(file, error)) from error
    except (ValueError, OverflowError):
        _raise_no_number(file, columns, features)
        raise
    x = np.ascontiguousarray(found[features].to_numpy(np.float32))
    # pandas reads a column of True and False alone as 1 and 0.
    cells = dict(zip(columns, first, strict=False))
    has_truths = any(cells.get(f, "").lower() in _TRUTHS for f in features)
    if has_truths or not np.isfinite(x).all():
        _raise_no_number(file, columns, features)
    texts = {}
    for name in columns:
        if kinds[name] is str:
            cells = found[name].tolist()
            kind = np.str_ if name in used else np.object_
            texts[name] = np.array(
                cells if name == PATH else normalized(cells), kind
            )
    return texts, x


def _first_row(file, columns):
    """Returns the first row; raises if it has more cells than columns.

    pandas would take its first cells as names of rows, and shift the rest. In
    later rows it refuses such cells.
    """
    try:
        with (
            cells_of_any_length(),
            open(file, encoding="utf-8-sig", newline="") as lines,
        ):
            rows = csv.reader(lines)
            next(rows, None)  # the names of the columns
            first = next(rows, [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(not_a_table(file, error)) from error
    if len(first) > len(columns):
        raise ValueError(
            not_a_table(
                file,
                "rows have more cells than the first line (for example a comma "
                "at the end of the rows)",
            )
        )
    return first


def _parsed(file, kinds):
    return _pandas().read_csv(
        file,
        dtype=kinds,
        encoding="utf-8-sig",
        na_filter=False,
        skip_blank_lines=False,
    )


def _raise_no_number(file, columns, features):
    """Raises for the first cell that is not a finite number, if any."""
    found = _parsed(file, dict.fromkeys(columns, str))
    lines = table_lines(file, len(found))
    empty = np.flatnonzero((found == "").all(axis=1))
    if len(empty):
        raise ValueError(
            f"{file}, line {lines[empty[0]]}: the line is empty; remove "
            "empty lines, also at the end of the file."
        )
    for name in features:
        for row, cell in enumerate(found[name]):
            try:
                with np.errstate(over="ignore"):
                    is_finite = np.isfinite(np.float32(cell))
                    # Python also reads 1_000, and digits of other scripts.
                    is_finite &= "_" not in cell and cell.isascii()
            except ValueError:
                is_finite = False
            if not is_finite:
                remedy = ""
                if cell.lower() in _TRUTHS:
                    remedy = " Write 1 instead of True, and 0 instead of False."
                raise ValueError(
                    f"{file}, line {lines[row]}: the feature {name!r} is "
                    f"{str(cell)!r}, expected a finite number, at most 3.4e38 "
                    "as in float32. A column that is not a feature is called "
                    "path, label, label_NAME or split; remove other columns."
                    f"{remedy}"
                )


def _taken(file, name):
    return (
        f"{file} has a column {name!r}, which load(label={name!r}) returns for "
        "every data set; rename it, or remove it."
    )


def _require_different(file, paths):
    folder = file.parent.absolute()
    places = np.array(
        [os.path.normpath(os.path.join(folder, path)) for path in paths]
    )
    found, counts = np.unique(places, return_counts=True)
    twice = np.flatnonzero(counts > 1)
    if len(twice):
        rows = np.flatnonzero(places == found[twice[0]])[:2]
        lines = table_lines(file, len(paths))[rows]
        raise ValueError(
            f"{file} has {str(paths[rows[0]])!r} twice, in the lines "
            f"{lines[0]} and {lines[1]}; a file in two rows may be in training "
            "and test."
        )


def _files(file, paths):
    """Returns the files that the table names."""
    kinds = {
        image_files.EXTENSIONS: image_files.image_files,
        sound_files.EXTENSIONS: sound_files.sound_files,
    }
    for extensions, read in kinds.items():
        is_kind = [path.lower().endswith(extensions) for path in paths]
        if all(is_kind):
            return read(file.parent, paths)
        if any(is_kind):
            row = is_kind.index(False)
            line = table_lines(file, len(paths))[row]
            raise ValueError(
                f"{file}, line {line}: {paths[row]!r} ends in none "
                f"of {', '.join(extensions)}, as the files of other rows do."
            )
    line = table_lines(file, len(paths))[0]
    raise ValueError(
        f"{file}, line {line}: {paths[0]!r} is neither an image "
        f"({', '.join(image_files.EXTENSIONS)}) nor a recording "
        f"({', '.join(sound_files.EXTENSIONS)})."
    )
