"""The data of a recipe: a split of a set, or a part of a fold."""

import functools

import numpy as np

from embeddings_tf import datasets
from embeddings_tf.ops.arguments import positive_integer
from trainers import folds
from trainers.config import build


def load(config, split: str):
    """`(x, labels)` of a split of the recipe's data set.

    A recipe with a section `folds` has the splits `train`, `validation` and
    `test` of its fold instead of those of the data set. With a `test_split`
    of the data set in it, that one is `test` in every fold, and the classes
    that a fold would hold out for the test are its `validation`.

    A recipe with a section `utterances` repeats those shorter than its
    `min_num_frames`, whole, until they have as many; one with a section
    `images` has images of its `size`, cut from the middle.
    """
    x, labels = _split(config, split)
    if "images" in config:
        x = x.with_size(config.images.size)
    if "utterances" in config:
        x = _repeat(x, config.utterances.min_num_frames)
    return x, labels


def _repeat(x: datasets.Utterances, num_frames: int) -> datasets.Utterances:
    num_frames = positive_integer("min_num_frames", num_frames)

    def repeat(utterance):
        times = -(-num_frames // len(utterance))
        return np.concatenate([utterance] * times)

    return x.map(repeat)


def _split(config, split: str):
    place = config.data_dir or None, config.manual_dir or None
    if "folds" not in config:
        return datasets.load(config.dataset, split, *place)
    test_split = config.folds.get("test_split", "")
    if test_split and split == "test":
        return datasets.load(config.dataset, test_split, *place)
    x, labels, classes = _selected(
        config.dataset, config.folds.split, config.folds.num_per_class, *place
    )
    parts = folds.split_classes(
        len(np.unique(classes)), config.folds.fold, config.folds.num_folds
    )
    if test_split:
        parts = {
            "train": np.concatenate([parts["train"], parts["validation"]]),
            "validation": parts["test"],
        }
    if split not in parts:
        raise ValueError(
            f"unknown split {split!r} of a fold; there are {', '.join(parts)}"
        )
    rows = np.flatnonzero(np.isin(classes, parts[split]))
    return _take(x, rows), labels[rows]


def _take(x, rows):
    return x[rows] if isinstance(x, np.ndarray) else x.take(rows)


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
    return _take(x, rows), labels[rows], classes[rows]


def preprocessing(config):
    """The recipe's preprocessing as `(x, seed) -> x`; None if it has none."""
    if "preprocess" not in config:
        return None

    def preprocess(x, seed):
        return build(datasets, config.preprocess, images=x, seed=seed)

    return preprocess
