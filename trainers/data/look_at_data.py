"""Looks at data of the user's own, to choose an encoder and batches."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from embeddings_tf import datasets
from embeddings_tf.datasets.own_data import is_own_data
from embeddings_tf.ops.counted import counted
from embeddings_tf.ops.listed import listed
from trainers.config.run import Folds
from trainers.config.run import Run
from trainers.data.channels_first import warn_of_channels_first
from trainers.data.data import Data
from trainers.data.folds import class_ids
from trainers.data.goal_front_end import goal_front_end

# Images with a longer side are resized to squares of this side.
LARGEST_SIDE, RESIZED_SIDE = 96, 64
IMAGES_LOOKED_AT = 100
# Of named sets without validation or test.
NUM_FOLDS = 5


@dataclasses.dataclass(frozen=True)
class DataSummary:
    """The properties of a data set that decide the recipe of a goal.

    counts: Numbers of examples per class in `train`, `validation` and `test`.
    num_factors: Number of labels of an example.
    is_read_later: Whether the examples are images that are read when needed.
    about: Kind and size of the examples, in words.
    encoder: Section `encoder` of a recipe for such examples, without `dim`.
    sections: Other sections of the recipe: features, sizes, and the division.
    """

    counts: Mapping[str, np.ndarray]
    num_factors: int
    is_read_later: bool
    about: str
    encoder: Mapping[str, Any]
    sections: Mapping[str, Any]


def look_at_data(
    run: Run, fold: int = 0, *, one_is_enough: bool = False
) -> DataSummary:
    """Looks at a data set, for the recipe of a goal.

    Args:
        run: A run with the data set and its division. A named set without
            validation or test is divided into `NUM_FOLDS` folds by class.
        fold: Index of the fold of such a set.
        one_is_enough: Whether a combination of factors may have one example.

    Raises:
        ValueError: If a split has fewer than two classes, a class only one
            example (unless `one_is_enough`), or if no encoder takes the
            examples.
    """
    run, divided = _with_validation(run, fold)
    data = Data(run)
    x, labels = data.unprocessed("train")
    counts = {"train": _class_counts(data, "train", labels, one_is_enough)}
    about, encoder, sections = _kind(x, run.data.dataset)
    for split in ("validation", "test"):
        _, other = data.unprocessed(split)
        counts[split] = _class_counts(data, split, other, one_is_enough)
    return DataSummary(
        counts=counts,
        num_factors=labels.shape[1] if labels.ndim == 2 else 1,
        is_read_later=isinstance(x, datasets.Images),
        about=about,
        encoder=encoder,
        sections=sections | divided,
    )


def _class_counts(data: Data, split: str, labels, one_is_enough) -> np.ndarray:
    """Returns the number of examples of each class, if a goal can use them."""
    dataset, ids = data.run.data.dataset, class_ids(labels)
    _, first, counts = np.unique(ids, return_index=True, return_counts=True)
    if len(counts) < 2:
        raise ValueError(
            f"the split {split!r} of {dataset} has "
            f"{counted(len(counts), 'class', 'classes')}; a goal needs at "
            "least two. Add classes or, without splits of your own and with "
            "six examples of each class, take --split examples"
        )
    if counts.min() < 2 and not (one_is_enough and labels.ndim == 2):
        names = data.names_of_classes(split)[first[counts < 2]].tolist()
        raise ValueError(
            f"the split {split!r} of {dataset} has {len(names)} of "
            f"{len(counts)} classes with one example: {listed(names)}; a goal "
            "needs at least two. Add examples, or leave these classes out"
        )
    return counts


def _with_validation(run: Run, fold: int) -> tuple[Run, dict]:
    """Returns the run with validation classes, and its sections of a recipe.

    The `train` of named sets that lack `validation` or `test` is divided into
    five folds by class. A `test` of other classes stays the test.
    """
    fields = run.data
    if is_own_data(fields.dataset):
        return run, {"division": dataclasses.asdict(fields.division)}
    test = _labels(run, "test")
    has_both = test is not None and _labels(run, "validation") is not None
    if fields.folds.num_folds or has_both:
        return run, {}
    train = Data(run).labels("train")
    chosen = {"split": "train", "num_folds": NUM_FOLDS, "fold": fold}
    if test is not None and not np.isin(test, train).any():
        chosen["test_split"] = "test"
    data = dataclasses.replace(fields, folds=Folds(**chosen))
    return dataclasses.replace(run, data=data), {"folds": chosen}


def _labels(run: Run, split: str) -> np.ndarray | None:
    """Returns the labels of a split, or None if there is none."""
    try:
        return Data(run).labels(split)
    except ValueError:
        return None


def _kind(x, dataset: str) -> tuple[str, dict, dict]:
    """Returns kind and size in words, an encoder, and other sections."""
    if isinstance(x, datasets.Utterances) and x.sample_rate:
        return _recordings(x)
    if isinstance(x, datasets.Images):
        rows = np.linspace(0, len(x) - 1, min(len(x), IMAGES_LOOKED_AT))
        shapes = {x[int(row)].shape for row in np.unique(rows.astype(int))}
        shape = shapes.pop()
        if shapes or max(shape[:2]) > LARGEST_SIDE:
            shape = RESIZED_SIDE, RESIZED_SIDE, shape[2]
            about, encoder = _images(shape, "images, cropped and resized to")
            return about, encoder, {"images": {"size": RESIZED_SIDE}}
        return *_images(shape, "images of"), {}
    if isinstance(x, datasets.Utterances):
        shape = x[0].shape
    else:  # an object of the user's own may have no shape
        shape = np.shape(x[np.arange(1)])[1:]
        if len(shape) == 3:
            warn_of_channels_first(shape)
            return *_images(shape, "images of"), {}
        if len(shape) == 1:
            encoder = {"name": "features_encoder", "num_features": shape[0]}
            about = f"rows of {counted(shape[0], 'feature')}"
            return about, encoder, {}
        if len(shape) == 2:
            raise ValueError(
                f"{dataset} has examples of shape {shape}. If these are grey "
                "images (height, width), add a last axis: x[..., np.newaxis]"
            )
    raise ValueError(
        f"{dataset} has examples of shape {shape}; a goal takes images "
        "(height, width, channels), rows of features, and recordings. Write a "
        "recipe of your own, docs/training.md"
    )


def _images(shape, about: str) -> tuple[str, dict]:
    shape = tuple(int(side) for side in shape)
    encoder = {"name": "image_encoder", "image_shape": shape}
    return f"{about} {' x '.join(map(str, shape))}", encoder


def _recordings(x) -> tuple[str, dict, dict]:
    rate = x.sample_rate
    frames = np.asarray(x.lengths) / rate * 100  # every 10 ms
    num_frames = int(np.clip(np.median(frames) * 0.7, 40, 300))
    encoder = {
        "name": "x_vector_encoder",
        "num_coefficients": 30,
        "channels": (96, 96, 96, 96, 288),
    }
    sections = {
        "front_end": goal_front_end(rate),
        "utterances": {
            "num_frames": num_frames,
            "min_num_frames": num_frames,
        },
    }
    return f"recordings at {rate} samples per second", encoder, sections
