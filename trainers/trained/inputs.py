"""Inputs of the commands that use a trained model: files, folders, data."""

import dataclasses
import os
import pathlib
from collections.abc import Sequence

import numpy as np

from embeddings_tf.datasets.image_files import EXTENSIONS as IMAGES
from embeddings_tf.datasets.image_files import image_files
from embeddings_tf.datasets.own_data import has_all_examples
from embeddings_tf.datasets.own_data import is_own_data
from embeddings_tf.datasets.read_csv import read_csv
from embeddings_tf.datasets.sound_files import EXTENSIONS as SOUNDS
from embeddings_tf.datasets.sound_files import sound_files
from embeddings_tf.datasets.table_columns import LABEL
from embeddings_tf.datasets.table_columns import PATH
from embeddings_tf.datasets.table_columns import table_columns
from embeddings_tf.ops.listed import listed
from trainers.config.run import Division
from trainers.config.run import Folds
from trainers.config.run import Label
from trainers.config.run import Run
from trainers.data.classes import feature_columns
from trainers.data.data import Data
from trainers.data.data_name import is_same_data
from trainers.data.examples import take
from trainers.trained.stored_paths import full_names

# Files of data with labels, by their ending.
TABLES = {".csv": "csv", ".npz": "arrays"}


@dataclasses.dataclass(frozen=True, eq=False)
class Inputs:
    """Examples as the model takes them, with their labels and names.

    Args:
        x: Arrays, `datasets.Images` or `datasets.Utterances`.
        labels: Names of the classes `(n,)`, or None if they are not known.
        names: Paths of the files, or other names, `(n,)`.
        features: Columns of the features, if they are from a table.
        are_files: Whether the names are paths of files. A file may have the
            name of a row, such as `0`.
        data: Name of the data: the first input of a command, or the data of
            the run.
    """

    x: object
    labels: np.ndarray | None
    names: np.ndarray
    features: list[str] = dataclasses.field(default_factory=list)
    are_files: bool = False
    data: str = ""

    @property
    def full_names(self) -> np.ndarray:
        """Names that differ from the names of rows of other data."""
        return full_names(self.names, self.data, self.are_files)

    def take(self, rows) -> "Inputs":
        labels = None if self.labels is None else self.labels[rows]
        x, names = take(self.x, rows), self.names[rows]
        return dataclasses.replace(self, x=x, labels=labels, names=names)

    def with_labels(self, label: str) -> "Inputs":
        """Gives all inputs one label."""
        return dataclasses.replace(self, labels=np.full(len(self.names), label))


def read_inputs(
    run: Run,
    inputs: Sequence[str],
    split: str = "",
    *,
    processed: bool = True,
    remedy: str = "Name one of them with --split.",
) -> Inputs:
    """Reads inputs, processed as in the training of the run.

    Args:
        run: The run of the model.
        inputs: Files; or one folder, with or without one subfolder per class;
            or one name of data that `datasets.load` knows. Empty: the run's
            own data.
        split: Split of the data. Empty: `all`, or without inputs the
            split that is evaluated.
        processed: Whether data with splits is as the model takes it; False:
            recordings and images as they are, which computes nothing.
        remedy: Advice for data that needs the name of a split.

    Raises:
        ValueError: If an input is empty, if inputs are of several kinds, or
            without inputs if the run evaluates lists of trials.
        OSError: If a file does not exist.
    """
    if "" in inputs:  # such as "$PHOTOS" in a shell without this variable
        raise ValueError(
            "an input is empty; name a file, a folder or data (. is the "
            "current folder)"
        )
    if inputs:
        found = _read_inputs(run, inputs, split, processed, remedy)
        return dataclasses.replace(found, data=inputs[0])
    if not (split or run.evaluation.splits):
        raise ValueError(
            "the run evaluates lists of trials; name the inputs, or --split"
        )
    split = split or run.evaluation.splits[0]
    return inputs_of_split(run, split, processed=processed)


def _read_inputs(
    run: Run, inputs: Sequence[str], split: str, processed: bool, remedy: str
) -> Inputs:
    """Like `read_inputs`, of one input or more."""
    paths = [pathlib.Path(os.path.expanduser(word)) for word in inputs]
    if len(inputs) > 1:
        return _read_files(run, paths, split)
    (path,), (word,) = paths, inputs
    suffix = path.suffix.lower()
    if path.is_dir():
        kind = _kind_of_folder(run, path)
        if not kind:
            return _read_files(run, _files_in(run, path), split)
        word = f"{kind}:{word}"
    elif path.is_file() and suffix in TABLES:
        word = f"{TABLES[suffix]}:{word}"
    elif path.is_file() or suffix in (*IMAGES, *SOUNDS):
        return _read_files(run, paths, split)
    _require_kind(run, word.partition(":")[0], word)
    if _is_table_without_labels(word):
        return _read_unlabelled(run, word, split)
    own = {}
    if not is_same_data(word, run.data.dataset):
        own = {"label": Label(), "folds": Folds(), "division": Division()}
    elif split in ("", "all"):
        own = {"folds": Folds()}  # folds have no split of all examples
    data = dataclasses.replace(run.data, dataset=word, **own)
    run = dataclasses.replace(run, data=data)
    try:
        return inputs_of_split(run, split or "all", processed=processed)
    except ValueError as error:
        if split or "Unknown split 'all'" not in str(error):
            raise
        raise ValueError(f"{error} {remedy}") from error


def _is_table_without_labels(word: str) -> bool:
    kind, _, path = word.partition(":")
    if kind != "csv":
        return False
    columns = table_columns(path)
    return LABEL not in columns.names and not columns.factors


def _read_unlabelled(run: Run, word: str, split: str) -> Inputs:
    """Reads a table without a column of labels."""
    path = os.path.expanduser(word.partition(":")[2])
    source = read_csv(path, needs_labels=False)
    names, are_files = _paths(source.columns["name"], word)
    features = table_columns(path).features
    found = Inputs(source.x, None, names, features, are_files)
    if split not in ("", "all"):
        if source.splits is None or split not in source.splits:
            raise ValueError(
                f"--split {split}: {path} has no rows of this split in a "
                "column split; leave --split out"
            )
        found = found.take(np.flatnonzero(source.splits == split))
    # Errors name this table, not the data of the training.
    data = dataclasses.replace(run.data, dataset=word)
    run = dataclasses.replace(run, data=data)
    return dataclasses.replace(found, x=Data(run).prepared(found.x))


def read_rows(run: Run, data: str, names: list[str], split: str = "") -> Inputs:
    """Reads rows of data by their names, in the order of the names.

    Args:
        run: The run of the model.
        data: A table, a folder, or a name of data, as for `read_inputs`.
        names: Names of rows, each once.
        split: Split of the data. Empty: all examples.

    Raises:
        ValueError: If the data has no row of a name.
    """
    found = read_inputs(run, [data], split)
    rows = {name: row for row, name in enumerate(found.names.tolist())}
    missing = [name for name in names if name not in rows]
    if missing:
        raise ValueError(
            f"{data} has no row {missing[0]!r}; its rows are "
            f"{listed([repr(name) for name in rows])}"
        )
    return found.take(np.array([rows[name] for name in names]))


def inputs_of_split(run: Run, split: str, *, processed: bool = True) -> Inputs:
    """Reads a split of the run's data, with the names of its classes."""
    data = Data(run).named(split)
    x, labels = data.split(split) if processed else data.unprocessed(split)
    names = getattr(x, "names", None)
    if names is None:
        names = _names_of_rows(run, split, len(x))
    names, are_files = _paths(names, run.data.dataset)
    classes = np.asarray(data.class_names(labels)).astype(np.str_)
    features = feature_columns(run.data.dataset)
    return Inputs(x, classes, names, features, are_files, run.data.dataset)


def _names_of_rows(run: Run, split: str, count: int) -> np.ndarray:
    """Returns names that examples keep in every split, also of folds."""
    source, rows = Data(run).rows(split)
    names = _own_names(run, source)
    if names is not None:
        return names if rows is None else names[rows]
    rows = range(count) if rows is None else rows
    return np.array([f"{source}/{row}" for row in rows])


def _own_names(run: Run, split: str) -> np.ndarray | None:
    """Returns names in a split of the data set itself, if it knows them."""
    dataset = run.data.dataset
    if not is_own_data(dataset):
        return None
    data = dataclasses.replace(run.data, label=Label("name"), folds=Folds())
    named = Data(dataclasses.replace(run, data=data))
    if has_all_examples(dataset):
        return named.labels(split)
    try:
        names = named.labels(split)
    except ValueError:  # a function that knows other labels
        return None
    # A function of one split may have rows from 0 in each.
    return names if _are_names(names) else None


def _are_names(names: np.ndarray) -> bool:
    """Whether a function knows names, one for each example."""
    numbers = np.arange(len(names)).astype(np.str_)
    is_text = names.dtype.kind == "U" and names.ndim == 1
    return (
        is_text
        and len(np.unique(names)) == len(names)
        and not np.array_equal(names, numbers)
    )


def _paths(names, dataset: str) -> tuple[np.ndarray, bool]:
    """Returns names in data, as paths if they are files, and if they are.

    Rows are not files, also if there are files with their names.
    """
    names = [str(name) for name in names]
    kind, _, path = dataset.partition(":")
    path = os.path.expanduser(path)
    folder = os.path.dirname(path) if kind == "csv" else path
    is_folder = kind in ("image_folder", "audio_folder")
    if is_folder or (kind == "csv" and PATH in table_columns(path).names):
        return np.array([os.path.join(folder, name) for name in names]), True
    is_function = is_own_data(dataset) and kind not in TABLES.values()
    return np.array(names), is_function and _are_paths(names)


def _are_paths(names) -> bool:
    """Whether a function's names of examples are files; rows are numbered."""
    numbered = all(os.path.basename(name).isdecimal() for name in names)
    return not numbered and all(map(os.path.isfile, names))


def _endings(run: Run) -> dict[str, tuple[str, ...]]:
    """File name endings by kind of folder, the kind of the run first."""
    found = {"image_folder": IMAGES, "audio_folder": SOUNDS}
    if run.data.front_end.name:
        found = dict(reversed(found.items()))
    return found


def _require_kind(run: Run, kind: str, name: str) -> None:
    """Raises if files are images, and the run is of recordings, or reverse."""
    wanted, other = _endings(run)
    if kind != other:
        return
    kinds = {"image_folder": "images", "audio_folder": "recordings"}
    raise ValueError(
        f"the run was trained on {run.data.dataset}, and its model takes no "
        f"{kinds[kind]}; received {name}. Name {kinds[wanted]}, or another run"
    )


def _kind_of_folder(run: Run, folder: pathlib.Path) -> str:
    """Returns the kind of a folder with a subfolder per class, or "".

    Files of another kind than the run's may be among them, such as covers.
    """
    if not any(path.is_dir() for path in _visible(folder)):
        return ""
    found = {file.suffix.lower() for file in folder.rglob("*.*")}
    for kind, endings in _endings(run).items():
        if not found.isdisjoint(endings):
            return kind
    return next(iter(_endings(run)))  # it says what is missing


def _visible(folder: pathlib.Path) -> list[pathlib.Path]:
    """Returns what is in a folder, without hidden files and folders."""
    return [path for path in folder.iterdir() if path.name[0] != "."]


def _files_in(run: Run, folder: pathlib.Path) -> list[pathlib.Path]:
    for endings in _endings(run).values():
        files = [p for p in _visible(folder) if p.suffix.lower() in endings]
        if files:
            return sorted(files)
    raise ValueError(
        f"{folder} contains no images ({', '.join(IMAGES)}) and no "
        f"recordings ({', '.join(SOUNDS)}); name another folder"
    )


def _read_files(run: Run, paths: list[pathlib.Path], split: str) -> Inputs:
    """Reads files of one kind, without labels."""
    if split:
        raise ValueError(
            f"--split {split} is for data with splits; files have none"
        )
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(
                f"there is no file {path}; name files, one folder, or one data "
                "set such as image_folder:PATH"
            )
    names = [str(path) for path in paths]
    suffixes = {path.suffix.lower() for path in paths}
    if suffixes <= {*IMAGES}:
        _require_kind(run, "image_folder", names[0])
        x = image_files("", names)
    elif suffixes <= {*SOUNDS}:
        _require_kind(run, "audio_folder", names[0])
        x = sound_files("", names)
    else:
        raise ValueError(
            "the files must all be images or all be recordings; received "
            f"the endings {', '.join(map(repr, sorted(suffixes)))}"
        )
    x = Data(run).prepared(x)
    return Inputs(x, None, np.array(names), are_files=True)
