"""Splits of a data set, or of one fold of it."""

import numpy as np

from trainers.config.run import DataFields
from trainers.config.run import Label
from trainers.config.run import Part
from trainers.data import folds
from trainers.data.examples import Place
from trainers.data.examples import examples_of_folds
from trainers.data.examples import read_examples
from trainers.data.examples import take
from trainers.data.recordings import features


def read_split(fields: DataFields, place: Place, split: str, front_end: Part):
    """Returns features and labels of a split of the data set or fold.

    Args:
        fields: The fields of the data.
        place: Where the data set is, and how it is divided.
        split: A split of the data set; of a fold `train`, `validation` or
            `test`.
        front_end: Function that makes features of recordings; without a name
            none.

    Raises:
        ValueError: If the split does not exist.
        OSError: If the data set is missing.
    """
    wanted = fields.folds
    if not wanted.num_folds:
        return _of_data_set(fields, place, split, front_end)
    if wanted.test_split and split == "test":
        return _of_data_set(fields, place, wanted.test_split, front_end)
    x, labels, groups = examples_of_folds(
        fields.dataset,
        wanted.split,
        place,
        fields.label,
        wanted.group,
        wanted.num_per_class,
        front_end,
    )
    held_out = folds.split_classes(
        len(np.unique(groups)),
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
    if split not in held_out:
        raise ValueError(
            f"unknown split {split!r} of a fold; there are "
            f"{', '.join(held_out)}"
        )
    rows = np.flatnonzero(np.isin(groups, held_out[split]))
    return take(x, rows), labels[rows]


def _of_data_set(fields, place, split, front_end):
    x, labels, _ = read_examples(
        fields.dataset, split, place, fields.label, Label()
    )
    return features(x, front_end), labels
