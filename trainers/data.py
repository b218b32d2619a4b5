"""The data of a recipe: a split of a set, or a part of a fold."""

import functools
import os
import pathlib
import re

import ml_collections
import numpy as np
import tensorflow as tf

from embeddings_tf import datasets
from embeddings_tf.datasets import speech
from embeddings_tf.ops.arguments import positive_integer
from trainers import folds
from trainers.config import build

MANUAL_VARIABLE = "EMBEDDINGS_TF_MANUAL"


def load(config, split: str):
    """`(x, labels)` of a split of the recipe's data set.

    A recipe with a section `label` has another feature of the set as its label,
    of text the part that the group in the `pattern` matches.

    With `folds.num_folds=0` the data set's own splits are used. Otherwise a
    recipe with a section `folds` has the splits `train`, `validation` and
    `test` of its fold instead of those of the data set. With a `test_split`
    of the data set in it, that one is `test` in every fold, and the classes
    that a fold would hold out for the test are its `validation`. Whole classes
    are held out, or with a section `folds.group`, which is like `label`, whole
    groups with examples of all classes in each.

    A recipe with a section `front_end` has the features of recordings. One
    with a section `utterances` repeats those shorter than its
    `min_num_frames`, whole, until they have as many.

    Of images that are read when they are asked for, it keeps as many in memory
    as `images.cache_gib` hold. With `images.size` they have that size, cut from
    the middle, or with a field `images.crop` of False whole; with 0 they stay
    as they are.
    """
    x, labels = _split(config, split, _frozen(config, "front_end"))
    x = _sized(x, config)
    if "utterances" in config:
        x = _repeat(x, config.utterances.min_num_frames)
    return x, labels


def _sized(x, config):
    """Images read when needed: cached, and of the recipe's size if any."""
    size = config.images.size
    if isinstance(x, datasets.Images):
        x = x.cached(config.images.get("cache_gib", 0.0) * 2**30)
        crop = config.images.get("crop", True)
        return x.with_size(size, crop=crop) if size else x
    if size:
        raise ValueError(
            f"config.images.size={size} is for images that are read when "
            f"needed; {config.dataset} is {type(x).__name__} of one size. "
            "Leave the field at 0."
        )
    return x


def load_labels(config, split: str) -> np.ndarray:
    """The labels of a split, as `load` gives them; no features are computed."""
    return _split(config, split, front_end=None)[1]


def load_for_training(config):
    """`(x, labels)` of the training split, with augmented copies if wanted.

    Each section of a section `augmentation`, whatever its name, adds a copy of
    all recordings: with `noise` or `room_responses`, folders of recordings in
    `speaker/.../name.wav` form within `manual_dir`, or with the noise "babble",
    which is the training recordings themselves; the other fields are those of
    `speech.augment`.
    """
    x, labels = load(config, config.split)
    if "augmentation" not in config:
        return x, labels
    if "front_end" not in config:
        raise ValueError(
            "config.augmentation is for recordings: it needs config.front_end"
        )
    recordings, _ = _split(config, config.split, front_end=None)
    front_end = _frozen(config, "front_end")
    parts = [x]
    for number, section in enumerate(config.augmentation.values()):
        arguments = dict(section)
        for field in ("noise", "room_responses"):
            if arguments.get(field) == "babble":
                arguments[field] = recordings
            elif field in arguments:
                arguments[field] = _folder(config, arguments[field])
        copy = speech.augment(
            recordings, seed=config.seed + number, **arguments
        )
        copy = _features(copy, front_end)
        if "utterances" in config:
            copy = _repeat(copy, config.utterances.min_num_frames)
        parts.append(copy)
    frames = [utterance for part in parts for utterance in part]
    x = datasets.Utterances(
        np.concatenate(frames), [len(utterance) for utterance in frames]
    )
    return x, np.concatenate([labels] * len(parts))


def _folder(config, name):
    """Recordings in a folder of original files."""
    parent = config.manual_dir or os.environ.get("EMBEDDINGS_TF_MANUAL")
    if not name or not parent:
        raise ValueError(
            "the folder of the noise or of the room responses is not known; "
            "name it in config.augmentation, within config.manual_dir or "
            "$EMBEDDINGS_TF_MANUAL"
        )
    x, _, _ = speech.read_recordings(pathlib.Path(parent).expanduser() / name)
    return x


def _repeat(x: datasets.Utterances, num_frames: int) -> datasets.Utterances:
    num_frames = positive_integer("min_num_frames", num_frames)

    times = -(-num_frames // x.lengths)

    def repeat(number):
        return np.concatenate([x[number]] * int(times[number]))

    # Nothing is read before it is asked for.
    return datasets.Utterances(repeat, times * x.lengths)


def _split(config, split: str, front_end):
    label = _frozen(config, "label")
    place = config.data_dir or None, config.manual_dir or None

    def whole(name):
        x, labels, _ = _examples(config.dataset, name, *place, label)
        return _features(x, front_end), labels

    if "folds" not in config or config.folds.num_folds == 0:
        return whole(split)
    test_split = config.folds.get("test_split", "")
    if test_split and split == "test":
        return whole(test_split)
    group = _frozen(config.folds, "group")
    x, labels, groups = _selected(
        config.dataset,
        config.folds.split,
        config.folds.num_per_class,
        *place,
        label,
        group,
        front_end,
    )
    parts = folds.split_classes(
        len(np.unique(groups)),
        config.folds.fold,
        config.folds.num_folds,
        min_num_test=2 if group is None else 1,
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
    rows = np.flatnonzero(np.isin(groups, parts[split]))
    return _take(x, rows), labels[rows]


def _frozen(config, section: str):
    """A section as something hashable; None if there is none."""
    if section not in config:
        return None
    return ml_collections.FrozenConfigDict(config[section])


def _take(x, rows):
    return x[rows] if isinstance(x, np.ndarray) else x.take(rows)


@functools.lru_cache(maxsize=2)  # recordings and features
def _selected(
    dataset, split, num_per_class, data_dir, manual_dir, label, group, front_end
):
    """The examples of all folds, the same in every run; one copy in memory."""
    x, labels, names = _examples(
        dataset, split, data_dir, manual_dir, label, group
    )
    classes = folds.class_ids(labels)
    groups = classes if names is None else folds.class_ids(names)
    if num_per_class:
        order = np.random.default_rng(0).permutation(len(classes))
        order = order[np.argsort(classes[order], kind="stable")]
        first = np.searchsorted(classes[order], classes[order])
        rank = np.arange(len(order)) - first
        rows = np.sort(order[rank < num_per_class])
        x, labels, groups = _take(x, rows), labels[rows], groups[rows]
    return _features(x, front_end), labels, groups


def _examples(dataset, split, data_dir, manual_dir, label, group=None):
    """A split of a data set, its labels, and its groups if there are any."""

    def read(section):
        place = dataset, split, data_dir, manual_dir
        if section is None:
            return datasets.load(*place)
        return datasets.load(*place, label=section.feature)

    x, values = read(label)
    labels = _parts(values, label)
    if group is None:
        return x, labels, None
    if label is None or label.feature != group.feature:
        _, values = read(group)
    return x, labels, _parts(values, group)


def _parts(values, section):
    """What the group in the section's pattern finds in each label."""
    if section is None or not section.pattern:
        return values
    found = [re.search(section.pattern, str(value)) for value in values]
    for value, match in zip(values, found, strict=True):
        if match is None or not match.groups():
            raise ValueError(
                f"the pattern {section.pattern!r} must find a group in every "
                f"{section.feature}, and finds none in {str(value)!r}"
            )
    return np.array([match.group(1) for match in found])


def _features(x, section):
    """What the front end of a recipe makes of recordings; `x` if it has none"""
    if section is None:
        return x
    _check_sample_rate(x, section)

    def features(waveform):
        return build(speech, section, waveform)[0]

    # Traced once for all lengths.
    traced = tf.function(
        features,
        input_signature=[tf.TensorSpec((None,), tf.float32)],
        autograph=False,
    )

    def compute(waveform):
        waveform = waveform.astype(np.float32)
        try:
            return traced(waveform)
        except tf.errors.InvalidArgumentError:
            return features(waveform)  # eagerly it says what is wrong

    return x.map(compute)


def _check_sample_rate(x, section) -> None:
    """Raises unless the recordings have the rate that the front end expects."""
    if not isinstance(x, datasets.Utterances):
        raise ValueError(
            "config.front_end is for recordings; the data set has "
            f"{type(x).__name__}; remove the section"
        )
    if x.sample_rate not in (None, section.sample_rate):
        raise ValueError(
            f"the recordings have {x.sample_rate} samples a second, and "
            f"config.front_end.sample_rate is {section.sample_rate}; set it to "
            f"{x.sample_rate} (with frequencies up to half of it), or resample "
            "them"
        )


def front_end(config):
    """Waveforms and lengths to the model's input; None if it is no speech.

    What `load` makes of each recording, as one function of padded batches, for
    the exported model.
    """
    if "front_end" not in config:
        return None
    min_num_frames = 1
    if "utterances" in config:
        min_num_frames = config.utterances.min_num_frames

    @tf.function(
        input_signature=[
            tf.TensorSpec((None, None), tf.float32, "waveform"),
            tf.TensorSpec((None,), tf.int32, "length"),
        ],
        autograph=False,
    )
    def features(waveform, length):
        return build(
            speech,
            config.front_end,
            waveform,
            length,
            min_num_frames=min_num_frames,
        )[0]

    return features


def load_trials(config, split: str, path: str, num_trials: int = 0):
    """A list of trials, and the examples of a split that occur in it.

    Args:
        config: The recipe; the names in the list are the label `name` of its
            data set.
        split: Of the data set.
        path: Of the list, from `manual_dir` on.
        num_trials: How many, drawn at random by `config.seed`; 0: all.

    Returns:
        `(x, first, second, is_target)`, indices into `x` and whether both are
        of one class.
    """
    place = config.data_dir or None, config.manual_dir or None
    folder = pathlib.Path(place[1] or os.environ.get(MANUAL_VARIABLE, ""))
    _, names = datasets.load(config.dataset, split, *place, label="name")
    first, second, is_target = datasets.speech.read_trials(folder / path, names)
    if num_trials and num_trials < len(first):
        rng = np.random.default_rng(config.seed)
        rows = np.sort(rng.choice(len(first), num_trials, replace=False))
        first, second, is_target = first[rows], second[rows], is_target[rows]
    used, sides = np.unique(np.stack([first, second]), return_inverse=True)
    first, second = sides.reshape(2, -1)
    return _take(load(config, split)[0], used), first, second, is_target


def preprocessing(config):
    """The recipe's preprocessing as `(x, seed) -> x`; None if it has none."""
    if "preprocess" not in config:
        return None

    @tf.autograph.experimental.do_not_convert  # a second of every start
    def preprocess(x, seed):
        return build(datasets, config.preprocess, images=x, seed=seed)

    return preprocess
