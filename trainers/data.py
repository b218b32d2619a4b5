"""The data of a recipe: a split of a set, or a part of a fold."""

import functools

import numpy as np

from embeddings_tf import datasets
from trainers import folds
from trainers.config import build


def load(config, split: str):
    """`(x, labels)` of a split of the recipe's data set.

    A recipe with a section `folds` has the splits `train`, `validation` and
    `test` of its fold instead of those of the data set.
    """
    place = config.data_dir or None, config.manual_dir or None
    if "folds" not in config:
        return datasets.load(config.dataset, split, *place)
    x, labels, classes = _selected(
        config.dataset, config.folds.split, config.folds.num_per_class, *place
    )
    parts = folds.split_classes(
        len(np.unique(classes)), config.folds.fold, config.folds.num_folds
    )
    if split not in parts:
        raise ValueError(
            f"unknown split {split!r} of a fold; there are {', '.join(parts)}"
        )
    rows = np.flatnonzero(np.isin(classes, parts[split]))
    return x[rows], labels[rows]


@functools.lru_cache(maxsize=1)
def _selected(dataset, split, num_per_class, data_dir, manual_dir):
    """The examples of all folds, the same in every run; one copy in memory."""
    x, labels = datasets.load(dataset, split, data_dir, manual_dir)
    classes = folds.class_ids(labels)
    if not num_per_class:
        return x, labels, classes
    order = np.random.default_rng(0).permutation(len(classes))
    order = order[np.argsort(classes[order], kind="stable")]
    first = np.searchsorted(classes[order], classes[order])
    rank = np.arange(len(order)) - first
    rows = np.sort(order[rank < num_per_class])
    return x[rows], labels[rows], classes[rows]


def preprocessing(config):
    """The recipe's preprocessing as `(x, seed) -> x`; None if it has none."""
    if "preprocess" not in config:
        return None

    def preprocess(x, seed):
        return build(datasets, config.preprocess, images=x, seed=seed)

    return preprocess
