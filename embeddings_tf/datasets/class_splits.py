"""The published splits by class of data sets in TensorFlow Datasets."""

import pathlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_CIFAR_FS = pathlib.Path(__file__).parent / "splits" / "cifar_fs"


class ClassSplits(NamedTuple):
    """Which classes of a data set belong to each split."""

    source: str
    source_split: str
    classes: dict[str, Sequence[int] | Sequence[str]]


def _names(split):
    return (_CIFAR_FS / f"{split}.txt").read_text("utf-8").split()


# The first half of the classes is for training, the other half for the test
# (Song et al. 2016); CIFAR-FS is from Bertinetto et al. 2019.
CLASS_SPLITS = {
    "caltech_birds2011/disjoint_classes": ClassSplits(
        "caltech_birds2011",
        "train+test",
        {"train": range(100), "test": range(100, 200)},
    ),
    "cars196/disjoint_classes": ClassSplits(
        "cars196",
        "train+test",
        {"train": range(98), "test": range(98, 196)},
    ),
    "cifar100/cifar_fs": ClassSplits(
        "cifar100",
        "train+test",
        {split: _names(split) for split in ("train", "validation", "test")},
    ),
}


def rows_of_classes(
    labels: np.ndarray, classes: Sequence[int] | Sequence[str], label_feature
) -> np.ndarray:
    """Returns the indices of the examples of some classes, in order."""
    numbers = [
        label_feature.str2int(name) if isinstance(name, str) else name
        for name in classes
    ]
    return np.flatnonzero(np.isin(labels, numbers))
