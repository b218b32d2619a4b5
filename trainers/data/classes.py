"""Names and splits of the classes of a run on data of the user's own."""

import dataclasses
import pathlib
import sys
import warnings
from typing import TypedDict

import numpy as np

from embeddings_tf.datasets.own_data import has_own_splits
from embeddings_tf.datasets.own_data import is_own_data
from embeddings_tf.datasets.table_columns import table_columns
from embeddings_tf.ops.counted import counted
from embeddings_tf.ops.listed import listed
from embeddings_tf.scoring.open_set import answer_for_unknown
from trainers.config.run import Run
from trainers.data.data_name import is_same_data
from trainers.workdirs.initial_weights_path import initial_weights_path
from trainers.workdirs.json_files import read_json
from trainers.workdirs.json_files import write_json
from trainers.workdirs.other_data_error import OtherDataError
from trainers.workdirs.workdir import run_of_workdir

CLASSES_FILE = "classes.json"
# Arguments of samplers whose sum is the number of examples per class.
_PER_CLASS = ("num_per_class", "num_support", "num_query")


class Recorded(TypedDict, total=False):
    """What `classes.json` records of the data of a run.

    Attributes:
        dataset: The name of the data.
        splits: Number of examples of each class, by split.
        rows: A hash of the examples of each split, if the examples of every
            class are divided.
        divided: What is divided in each split, such as speakers, if these are
            not the labels.
        features: The columns of a table of features.
    """

    dataset: str
    splits: dict[str, dict[str, int]]
    rows: dict[str, str]
    divided: dict[str, list[str]]
    features: list[str]


def classes_of(run: Run, data) -> Recorded | None:
    """Returns the class names of every split that a run uses.

    Args:
        run: The typed run.
        data: Its `trainers.data.data.Data`.

    Returns:
        What `write_classes` records; None for data with a name.
    """
    if not is_own_data(run.data.dataset):
        return None
    wanted = run.evaluation
    used = (run.data.split, wanted.validation.split, *wanted.splits)
    splits = {}
    for split in dict.fromkeys(used):
        names = data.names_of_classes(split)
        unique, counts = np.unique(names, return_counts=True)
        splits[split] = dict(zip(unique.tolist(), counts.tolist(), strict=True))
    recorded = Recorded(dataset=run.data.dataset, splits=splits)
    features = feature_columns(run.data.dataset)
    if features:
        recorded["features"] = features
    if run.data.division.by == "examples":  # refused for data with splits
        folds = run.data.folds
        if folds.num_folds:
            used = tuple(filter(None, (folds.split, folds.test_split)))
        divided = [split for split in dict.fromkeys(used) if split != "all"]
        recorded["rows"] = {split: data.row_digest(split) for split in divided}
    folds, label = run.data.folds, run.data.label
    if folds.num_folds and folds.group.feature:
        recorded["divided"] = {"every fold": data.divided_names(folds.split)}
    elif label.feature and not folds.num_folds:
        recorded["divided"] = {
            split: data.divided_names(split) for split in splits
        }
    return recorded


def print_classes(run: Run, recorded: Recorded | None) -> None:
    """Prints each split, with its first classes; nothing without classes."""
    if recorded is None:
        return
    folds, division = run.data.folds, run.data.division
    how = f"classes divided by seed {division.seed}"
    if folds.num_folds:
        how = f"fold {folds.fold} of {folds.num_folds}"
    elif division.by == "examples":  # refused for data with splits
        how = f"examples of every class divided by seed {division.seed}"
    elif has_own_splits(run.data.dataset):
        how = "its own splits"
    print(f"Data: {recorded['dataset']} ({how})")
    splits = recorded["splits"]
    trained = set(splits[run.data.split])
    for split, classes in splits.items():
        in_training = ""
        if split != run.data.split:
            count = len(trained & set(classes)) or "none"
            in_training = f", {count} of them in training"
        print(
            f"  {split}: {counted(sum(classes.values()), 'example')} of "
            f"{counted(len(classes), 'class', 'classes')}{in_training}: "
            f"{listed(list(classes))}",
            flush=True,
        )


def warn_of_unknown(recorded: Recorded | None) -> None:
    """Warns of a class with the name of the answer for other classes.

    Only galleries refuse it, and after the training it is too late: a run
    refuses data whose classes have changed.

    Args:
        recorded: The result of `classes_of`.
    """
    splits = recorded["splits"].values() if recorded else ()
    names = np.array(sorted(set().union(*splits)), np.str_)
    answer = answer_for_unknown(None, names)
    if answer in names:
        warnings.warn(
            f"the class {answer!r} cannot be enrolled, because this is the "
            "answer for other classes; rename it before the training",
            stacklevel=2,
        )


def warn_of_initial_weights(run: Run, recorded: Recorded | None) -> None:
    """Warns if initial weights were trained on classes that this run tests.

    Only classes of the same data are compared, and only if this run does not
    train on them itself. Classes of data with a name are not recorded: there,
    both runs must have the same folds.
    """
    if not run.training.initial_weights:
        return
    folder = initial_weights_path(run)
    if recorded is None:
        _warn_of_other_folds(run, folder)
        return
    if not (folder / CLASSES_FILE).is_file():
        return
    before = read_json(folder / CLASSES_FILE, "train that run again")
    _, other = run_of_workdir(folder)
    if not is_same_data(str(before.get("dataset")), recorded["dataset"]):
        return
    splits = recorded["splits"]
    tested = {name for split in run.evaluation.splits for name in splits[split]}
    trained = set(before.get("splits", {}).get(other.data.split, ()))
    shared = sorted(tested & trained - set(splits[run.data.split]))
    if shared:
        print(
            f"warning: the initial weights in {folder} were trained on classes "
            f"that this run tests ({listed(shared)}), so its results will be "
            "too good; start from a run with the same division of the data",
            file=sys.stderr,
        )


def _warn_of_other_folds(run: Run, folder: pathlib.Path) -> None:
    if not (folder / "config.json").is_file():
        return
    _, other = run_of_workdir(folder)
    if not is_same_data(other.data.dataset, run.data.dataset):
        return
    theirs, ours = map(dataclasses.asdict, (other.data.folds, run.data.folds))
    differing = [name for name in ours if theirs[name] != ours[name]]
    if differing:
        name = differing[0]
        print(
            f"warning: the initial weights in {folder} were trained on other "
            f"folds of {run.data.dataset} (config.folds.{name}="
            f"{theirs[name]!r}; this run has {ours[name]!r}), perhaps on "
            "classes that this run tests, so its results may be too good; "
            "start from a run with the same folds",
            file=sys.stderr,
        )


def require_same_classes(path: pathlib.Path, recorded: Recorded | None) -> None:
    """Checks that the data has the classes with which the run started.

    Another class could move a training class to the test. More or other files
    in a class are allowed here, unless the examples of every class are divided:
    they could move training examples to the test (`require_unseen_test`).

    Raises:
        OtherDataError: If a split has other classes, or other examples that
            matter, or if a table has other columns of features.
    """
    file = path / CLASSES_FILE
    if recorded is None or not file.exists():
        return
    before = read_json(file, "start the run again in another --workdir")
    require_same_features(path, recorded.get("features", []))
    for split, classes in recorded["splits"].items():
        known = before.get("splits", {}).get(split, ())
        changed = sorted(set(known) ^ set(classes))
        if not changed:
            continue
        raise OtherDataError(
            f"{recorded['dataset']} has other classes in {split!r} than when "
            f"this run started ({listed(changed)}), see {file}; put the data "
            "back, or train again in another --workdir"
        )
    for split, names in recorded.get("divided", {}).items():
        changed = set(names) ^ set(before.get("divided", {}).get(split, ()))
        if changed:
            raise OtherDataError(
                f"{recorded['dataset']} is divided by other names than when "
                f"this run started ({listed(sorted(changed))}), see {file}; "
                "training examples could now be in the test. Put the data "
                "back, or train again in another --workdir"
            )
    for split, digest in recorded.get("rows", {}).items():
        if before.get("rows", {}).get(split) != digest:
            raise OtherDataError(
                f"{recorded['dataset']} has other examples in {split!r} than "
                f"when this run started, see {file}; with "
                "division.by=examples, training examples could now be in the "
                "test. Put the files and names back, or train again in another "
                "--workdir"
            )


def write_classes(path: pathlib.Path, recorded: Recorded | None) -> None:
    """Writes `classes.json` into a fresh workdir."""
    if recorded is not None:
        write_json(path / CLASSES_FILE, recorded)


def trained_names(workdir: pathlib.Path, split: str) -> set[str] | None:
    """Returns the classes of a split as the training wrote them, if it did."""
    remedy = "put the file back, or remove it to read the run's data"
    names = _recorded(workdir, remedy).get("splits", {}).get(split)
    return None if names is None else set(names)


def validates_on_trained(workdir: pathlib.Path, run: Run) -> bool:
    """Whether the training wrote classes that it also validates on."""
    trained, validation = (
        trained_names(workdir, split) or set()
        for split in (run.data.split, run.evaluation.validation.split)
    )
    return not trained.isdisjoint(validation)


def split_sizes(workdir: pathlib.Path, *, by_class: bool) -> dict[str, int]:
    """Returns the size of every split as the training wrote it, if it did.

    Args:
        workdir: Folder of the run.
        by_class: Whether to count what was divided, such as classes or
            speakers; False: examples.
    """
    recorded = _recorded(workdir, "train again")
    # Something else than the labels may be divided, such as speakers.
    splits = recorded.get("divided", {}) if by_class else {}
    return {
        split: len(names) if by_class else sum(names.values())
        for split, names in (splits or recorded.get("splits", {})).items()
    }


def _recorded(workdir: pathlib.Path, remedy: str) -> Recorded:
    """Returns what `write_classes` wrote; {} if it wrote nothing."""
    file = workdir / CLASSES_FILE
    return read_json(file, remedy) if file.is_file() else {}


def feature_columns(dataset: str) -> list[str]:
    """Returns the columns of features of a table; none for other data."""
    kind, _, path = dataset.partition(":")
    return table_columns(path).features if kind == "csv" else []


def require_same_features(path: pathlib.Path, features: list[str]) -> None:
    """Checks that a table has the features of the training, in their order.

    Raises:
        OtherDataError: If a column is another, is missing or is too many.
    """
    file = path / CLASSES_FILE
    if not features or not file.exists():
        return
    before = read_json(file, "start the run again in another --workdir")
    trained_features = before.get("features")
    if not trained_features:  # trained on arrays, of which no names are known
        return
    missing = [name for name in trained_features if name not in features]
    more = [name for name in features if name not in trained_features]
    if len(features) != len(trained_features):
        faults = [f"lacks {', '.join(map(repr, missing))}"] * bool(missing)
        faults += [f"also has {', '.join(map(repr, more))}"] * bool(more)
        raise OtherDataError(
            f"the table has {counted(len(features), 'feature')}, and the "
            f"training had {len(trained_features)}, see {file}; the table "
            f"{' and '.join(faults)}. Give it the columns of the training, in "
            "their order"
        )
    columns = zip(features, trained_features, strict=True)
    for number, (column, trained) in enumerate(columns):
        if column != trained:
            raise OtherDataError(
                f"feature {number} of the table is {column!r}, and was "
                f"{trained!r} in the training, see {file}; the model knows "
                "features by their places. Put the columns in that order"
            )


def require_large_classes(run: Run, data, x, labels) -> None:
    """Checks that every training class has enough examples for a batch.

    Raises:
        ValueError: If a class is too small; names it and its first file.
    """
    part = run.batches
    if part.name not in ("class_balanced_batches", "episodes"):
        return
    if part.arguments.get("allow_fewer"):
        return
    given = {
        name: part.arguments[name]
        for name in _PER_CLASS
        if name in part.arguments
    }
    needed = sum(given.values())
    if np.ndim(labels) != 1 or not is_own_data(run.data.dataset):
        return
    found, first, counts = np.unique(
        labels, return_index=True, return_counts=True
    )
    if not len(found) or counts.min() >= needed:
        return
    few, num_few = np.argmin(counts), np.sum(counts < needed)
    name = data.class_names(labels[first[few : few + 1]])[0]
    files = getattr(x, "names", None)
    where = f" ({files[first[few]]})" if files else ""
    fields = " + ".join(f"config.batches.{name}" for name in given)
    raise ValueError(
        f"the class {str(name)!r} of {run.data.dataset} has "
        f"{counted(counts[few], 'example')} in {run.data.split}{where}, but "
        f"{fields} = {needed}; {num_few} of "
        f"{counted(len(counts), 'class', 'classes')} "
        f"{'has' if num_few == 1 else 'have'} too few. Set fewer, add "
        "examples, or remove these classes"
    )
