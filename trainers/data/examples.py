"""Examples of a data set, with their labels and groups."""

import functools
import re
from typing import NamedTuple

import numpy as np

from embeddings_tf import datasets
from embeddings_tf.ops.rank_in_class import rank_in_class
from trainers.config.run import Label
from trainers.config.run import Part
from trainers.data import folds
from trainers.data.recordings import features


class LoadOptions(NamedTuple):
    """Folders and division of a data set: arguments of `datasets.load`."""

    data_dir: str | None = None
    manual_dir: str | None = None
    divide: str = "classes"
    seed: int = 0


def load(dataset: str, split: str, options: LoadOptions, **label):
    """Examples and labels of a split of a data set, by `datasets.load`."""
    return datasets.load(dataset, split, **options._asdict(), **label)


def read_examples(
    dataset: str, split: str, options: LoadOptions, label: Label, group: Label
):
    """Reads a split of a data set, its labels, and its groups if any.

    Args:
        dataset: A name that `datasets.load` knows.
        split: A split of the data set.
        options: Folders and division of the data set.
        label: The feature used as label; "": the set's own label.
        group: The feature used as group; "": without groups.
    """

    def read(wanted):
        if not wanted.feature:
            return load(dataset, split, options)
        return load(dataset, split, options, label=wanted.feature)

    x, values = read(label)
    labels = _matched(values, label)
    if not group.feature:
        return x, labels, None
    if label.feature != group.feature:
        _, values = read(group)
    return x, labels, _matched(values, group)


def _matched(values, wanted: Label):
    """Returns the match of the pattern's group in each value of a feature."""
    if not (wanted.feature and wanted.pattern):
        return values
    found = [re.search(wanted.pattern, str(value)) for value in values]
    for value, match in zip(values, found, strict=True):
        if match is None or not match.groups():
            raise ValueError(
                f"the pattern {wanted.pattern!r} must find a group in every "
                f"{wanted.feature}, and finds none in {str(value)!r}"
            )
    return np.array([match.group(1) for match in found])


@functools.lru_cache(maxsize=2)  # recordings and features
def examples_of_folds(
    dataset: str,
    split: str,
    options: LoadOptions,
    label: Label,
    group: Label,
    num_per_class: int,
    front_end: Part,
):
    """Returns the examples of all folds: `(x, labels, groups, rows)`.

    Groups are numbers, and rows are places in the split of the data set. All
    are equal for every fold, and kept in memory for the folds of a
    cross-validation. `num_per_class` examples of each class are drawn, the
    same in every run; 0 uses all.
    """
    x, labels, names = read_examples(dataset, split, options, label, group)
    classes = folds.class_ids(labels)
    groups = classes if names is None else folds.class_ids(names)
    rows = np.arange(len(classes))
    if num_per_class:
        order = np.random.default_rng(0).permutation(len(classes))
        rank = rank_in_class(classes[order])
        rows = np.sort(order[rank < num_per_class])
        x, labels = take(x, rows), labels[rows]
        groups = folds.class_ids(groups[rows])  # some may be gone
    return features(x, front_end), labels, groups, rows


def rows_of_classes(labels, num_per_class: int) -> np.ndarray:
    """Some rows of each class, spread over the class; 0 takes all."""
    rows = []
    for label in np.unique(labels):
        of_class = np.flatnonzero(labels == label)
        count = min(num_per_class or len(of_class), len(of_class))
        rows.append(of_class[np.arange(count) * len(of_class) // count])
    return np.concatenate(rows)


def some_of_each_class(x, labels, num_per_class: int) -> tuple:
    """Returns some examples of each class with their labels; 0 takes all."""
    if not num_per_class:
        return x, labels
    rows = rows_of_classes(folds.class_ids(labels), num_per_class)
    return take(x, rows), labels[rows]


def take(x, rows):
    """Selects examples from an array or another kind of data."""
    # An array has a `take` of its own, along no axis.
    is_array = isinstance(x, np.ndarray) or not hasattr(x, "take")
    return x[rows] if is_array else x.take(rows)
