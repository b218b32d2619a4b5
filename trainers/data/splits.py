"""Splits of a data set, or of one fold of it."""

import numpy as np

from trainers.config.run import DataFields
from trainers.config.run import Folds
from trainers.config.run import Label
from trainers.config.run import Part
from trainers.data import folds
from trainers.data.examples import LoadOptions
from trainers.data.examples import examples_of_folds
from trainers.data.examples import read_examples
from trainers.data.examples import take
from trainers.data.recordings import features


def read_split(
    fields: DataFields, options: LoadOptions, split: str, front_end: Part
):
    """Returns features and labels of a split of the data set or fold.

    Args:
        fields: The fields of the data.
        options: Folders and division of the data set.
        split: A split of the data set; of a fold `train`, `validation` or
            `test`.
        front_end: Function that makes features of recordings; without a name
            none.

    Raises:
        ValueError: If the split does not exist.
        OSError: If the data set is missing.
    """
    source = _own_split(fields, split)
    if source:
        return _of_data_set(fields, options, source, front_end)
    x, labels, groups, _ = _of_all_folds(fields, options, front_end)
    rows = _rows_of_fold(fields, groups, split)
    return take(x, rows), labels[rows]


def rows_of_split(
    fields: DataFields, options: LoadOptions, split: str
) -> tuple[str, np.ndarray | None]:
    """Returns the data set's split that contains a split, and the rows there.

    Args:
        fields, options, split: As for `read_split`.

    Returns:
        The name of the split, and rows `(n,)`, or None for all rows.
    """
    source = _own_split(fields, split)
    if source:
        return source, None
    _, _, groups, rows = _of_all_folds(fields, options, Part())
    return fields.folds.split, rows[_rows_of_fold(fields, groups, split)]


def _own_split(fields: DataFields, split: str) -> str:
    """Returns which split of the data set a split is; "" if it is of a fold."""
    if not fields.folds.num_folds:
        return split
    return fields.folds.test_split if split == "test" else ""


def _of_all_folds(fields: DataFields, options: LoadOptions, front_end: Part):
    return examples_of_folds(
        fields.dataset,
        fields.folds.split,
        options,
        fields.label,
        fields.folds.group,
        fields.folds.num_per_class,
        front_end,
    )


def parts_of_fold(num_groups: int, wanted: Folds) -> dict[str, np.ndarray]:
    """Returns the classes or groups of each part of a fold.

    Args:
        num_groups: Number of classes or groups in all folds.
        wanted: The fields of the fold.
    """
    held_out = folds.split_classes(
        num_groups,
        wanted.fold,
        wanted.num_folds,
        min_num_test=1 if wanted.group.feature else 2,
    )
    if wanted.test_split:
        training = held_out["train"], held_out["validation"]
        held_out = {
            "train": np.concatenate(training),
            "validation": held_out["test"],
        }
    return held_out


def _rows_of_fold(fields: DataFields, groups, split: str) -> np.ndarray:
    """Returns rows of the examples of all folds that are in a split."""
    held_out = parts_of_fold(len(np.unique(groups)), fields.folds)
    if split not in held_out:
        raise ValueError(
            f"unknown split {split!r} of a fold; there are "
            f"{', '.join(held_out)}"
        )
    return np.flatnonzero(np.isin(groups, held_out[split]))


def _of_data_set(fields, options, split, front_end):
    x, labels, _ = read_examples(
        fields.dataset, split, options, fields.label, Label()
    )
    return features(x, front_end), labels
