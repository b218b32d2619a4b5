"""The data of a run."""

import dataclasses
import functools
import hashlib
import json
import os
import pathlib

import numpy as np
import tensorflow as tf

from embeddings_tf import datasets
from embeddings_tf.datasets import speech
from embeddings_tf.datasets.own_data import has_all_examples
from embeddings_tf.datasets.own_data import is_own_data
from trainers.config.build import build
from trainers.config.run import Label
from trainers.config.run import Part
from trainers.config.run import Run
from trainers.data import folds
from trainers.data.backbone_features import backbone_features
from trainers.data.beyond_pixels import warn_beyond_pixels
from trainers.data.classes import require_large_classes
from trainers.data.examples import LoadOptions
from trainers.data.examples import load
from trainers.data.examples import read_examples
from trainers.data.examples import take
from trainers.data.feature_scale import require_no_overflow
from trainers.data.feature_scale import require_usable_scale
from trainers.data.recordings import MANUAL_VARIABLE
from trainers.data.recordings import augmented_copies
from trainers.data.recordings import features
from trainers.data.recordings import repeated
from trainers.data.splits import read_split
from trainers.data.splits import rows_of_split


class Data:
    """Splits and batches of a run's data set, each read once.

    Use it for training and evaluation. Data is read on first use.

    With `data.folds`, the splits are `train`, `validation` and `test` of one
    fold: whole classes are held out, or whole groups with `data.folds.group`.
    With `data.folds.test_split`, that split is the test set of every fold, and
    the held-out classes become validation. Without folds, the splits are the
    data set's own.

    With `data.front_end`, examples are features of recordings; recordings
    shorter than `data.utterances.min_num_frames` are repeated as a whole.
    Images that are read on demand are cached up to `data.images.cache_gib` and
    resized to `data.images.size`. With `data.backbone`, examples are features.

    Args:
        run: The typed run.
    """

    def __init__(self, run: Run):
        self.run = run
        self._splits = {}
        self._labels = {}
        self._others = {}
        self._batches = {}

    def split(self, name: str):
        """Returns examples and labels `(x, labels)` of a split.

        Warns of images without pixels of 0 to 255.

        Raises:
            ValueError: If the split does not exist, or has features that are
                too large.
            OSError: If the data set is missing.
        """
        if name not in self._splits:
            x, labels = self._read(name, self.run.data.front_end)
            warn_beyond_pixels(x)
            processed = self._processed(x, f"the split {name!r}")
            self._splits[name] = processed, labels
        return self._splits[name]

    def prepared(self, x):
        """Returns other examples, processed like the splits of the run.

        Raises:
            ValueError: If features are too large.
        """
        x = features(x, self.run.data.front_end)
        return self._processed(x, "the inputs")

    def unprocessed(self, name: str):
        """Returns original recordings or images of a split, and labels."""
        return self._read(name, Part())

    def labels(self, name: str) -> np.ndarray:
        """Returns the labels of a split, without computing features."""
        if name in self._splits:
            return self._splits[name][1]
        if name not in self._labels:
            self._labels[name] = self.unprocessed(name)[1]
        return self._labels[name]

    def rows(self, split: str) -> tuple[str, np.ndarray | None]:
        """Returns the data set's split that contains a split, and the rows.

        The rows are None if they are all rows of that split.
        """
        return rows_of_split(self.run.data, self._options, split)

    def class_names(self, labels: np.ndarray) -> np.ndarray:
        """Returns readable names of the classes of labels, `(n,)`.

        For data of the user's own, the names of folders or in files; for the
        folds of a named data set, its names. Other labels are their own names;
        factors become "value,value,...".
        """
        if labels.ndim == 2:
            rows = [tuple(row) for row in labels.tolist()]
            others = [",".join(map(str, row)) for row in rows]
            names = self._own_names
            return np.array(
                [names.get(*pair) for pair in zip(rows, others, strict=True)]
            )
        if labels.dtype.kind not in "iu" or not self._own_names:
            return labels
        return np.array([self._own_names[label] for label in labels.tolist()])

    def named(self, split: str) -> "Data":
        """Returns the same data with names of classes as labels.

        It is this data itself if the labels of the split have no names.
        """
        fields = self.run.data
        if fields.label.feature or fields.folds.num_folds:
            return self
        named = self.labelled("class")
        is_own = is_own_data(fields.dataset)
        if is_own and not has_all_examples(fields.dataset):
            try:
                named.labels(split)
            except ValueError:  # a function that knows other labels
                return self
        return named

    def labelled(self, label: str) -> "Data":
        """Returns the same data with another feature as label."""
        fields = dataclasses.replace(self.run.data, label=Label(label))
        return Data(dataclasses.replace(self.run, data=fields))

    def names_of_classes(self, split: str) -> np.ndarray:
        """Returns the name of the class of each example of a split, `(n,)`."""
        named = self.named(split)
        names = named.class_names(named.labels(split))
        return np.asarray(names).astype(np.str_)

    @functools.cached_property
    def _own_names(self) -> dict[int | tuple[int, ...], str]:
        """Returns names by label of a user's own data, and of named folds.

        Without folds, a named data set is read with names instead (`named`);
        folds are divided by numbers. Numbers without one meaning in all splits
        have no names: recordings in place are numbered split by split.
        """
        fields, of_folds = self.run.data, self.run.data.folds
        name, splits = fields.dataset, ()
        if fields.label.feature:
            return {}
        if has_all_examples(name):
            splits = ("all",)
        elif of_folds.num_folds and not is_own_data(name):
            splits = filter(None, (of_folds.split, of_folds.test_split))
        found: dict = {}
        for split in splits:
            _, labels = load(name, split, self._options)
            if labels.ndim == 2 and not is_own_data(name):
                continue  # factors, which have no names
            _, names = load(name, split, self._options, label="class")
            keys = labels.tolist()
            if labels.ndim == 2:
                keys = list(map(tuple, keys))
            of_split = dict(zip(keys, names.tolist(), strict=True))
            if any(
                found.get(key, of_split[key]) != of_split[key]
                for key in of_split
            ):
                return {}
            found |= of_split
        return found

    @functools.cached_property
    def num_classes(self) -> int:
        """Number of classes in the training split."""
        labels = self.labels(self.run.data.split)
        return len(np.unique(folds.class_ids(labels)))

    @functools.cached_property
    def input_spec(self) -> tf.TensorSpec:
        """Shape and type of a training batch of examples."""
        return self.batches(0).element_spec[0]

    def batches(self, first_step: int) -> tf.data.Dataset:
        """Returns the endless training batches from `first_step` on."""
        if first_step not in self._batches:  # tracing them takes long
            self._batches[first_step] = self._new_batches(first_step)
        return self._batches[first_step]

    def _new_batches(self, first_step: int) -> tf.data.Dataset:
        fields, seed = self.run.data, self.run.training.seed
        x, labels = self._training
        require_large_classes(self.run, self, x, labels)
        require_usable_scale(self.run, x)
        if self.run.batches.name != "factor_batches":
            labels = folds.class_ids(labels)
        if fields.images.size and not fields.backbone.network:
            x = x.with_size(fields.images.size, seed, crop=fields.images.crop)
        if fields.utterances.num_frames:
            x = x.with_num_frames(fields.utterances.num_frames, seed)
        self._check_preprocess(x)
        try:
            indices = build(
                self.run.batches, "batches", labels, seed=seed, start=first_step
            )
        except ValueError as error:
            raise ValueError(
                f"config.batches, of the training examples: {error}"
            ) from error
        return datasets.batches(
            x,
            labels,
            indices,
            preprocess=self.preprocess,
            seed=None if self.preprocess is None else seed,
            start=first_step,
        )

    @functools.cached_property
    def preprocess(self):
        """Returns a function `(x, seed) -> x` for training batches, or None."""
        part = self.run.data.preprocess
        if not part.name:
            return None

        @tf.autograph.experimental.do_not_convert  # saves a second per start
        def preprocess(x, seed):
            return build(part, "preprocess", images=x, seed=seed)

        return preprocess

    def _check_preprocess(self, x) -> None:
        """Applies the preprocessing to one example, before a graph is traced.

        In a graph, TensorFlow would add its own traceback to the error.
        """
        if self.preprocess is None:
            return
        try:
            first = tf.convert_to_tensor(x[np.arange(1)])
            self.preprocess(first, tf.zeros(2, tf.int32))
        except ValueError as error:
            raise ValueError(
                f"config.preprocess, of the training examples: {error}"
            ) from error

    def trials(self, split: str, path: str, num_trials: int = 0):
        """Reads a list of trials, and the examples of a split in the list.

        Args:
            split: Split of the data set, with a label `name`.
            path: Path of the list below `manual_dir`.
            num_trials: Number of trials to draw at random; 0 uses all.

        Returns:
            `(x, first, second, is_target)`: examples, indices into `x`, and
            whether both examples are in one class.

        Raises:
            ValueError: If the run has folds, or the list is damaged.
            OSError: If there is no list.
        """
        folds = self.run.data.folds
        if folds.num_folds and (split, folds.test_split) != ("test", "test"):
            raise ValueError(
                f"the list {path} is of a split of the data set; the "
                f"{split!r} of a run with folds has other examples"
            )
        folder = self._options.manual_dir or os.environ.get(MANUAL_VARIABLE, "")
        dataset = self.run.data.dataset
        _, names = load(dataset, split, self._options, label="name")
        first, second, is_target = speech.read_trials(
            pathlib.Path(os.path.expanduser(folder)) / path, names
        )
        if num_trials and num_trials < len(first):
            rng = np.random.default_rng(self.run.training.seed)
            rows = np.sort(rng.choice(len(first), num_trials, replace=False))
            first, second = first[rows], second[rows]
            is_target = is_target[rows]
        used, sides = np.unique(np.stack([first, second]), return_inverse=True)
        first, second = sides.reshape(2, -1)
        return take(self.split(split)[0], used), first, second, is_target

    def other_labels(self, split: str, feature: str) -> np.ndarray:
        """Returns another feature of the examples of a split, `(n,)`.

        Raises:
            ValueError: If the run has folds, or there is no such feature.
        """
        if self.run.data.folds.num_folds:
            raise ValueError(
                f"the feature {feature!r} is read from a split of the data "
                "set; a run with folds has others"
            )
        dataset = self.run.data.dataset
        return load(dataset, split, self._options, label=feature)[1]

    def divided_names(self, split: str) -> list[str]:
        """Returns the distinct names of what the run's data is divided by.

        These are the groups of all folds, or, without folds, the values of the
        column `class` in a split.
        """
        fields = self.run.data
        if fields.folds.num_folds:
            names = read_examples(
                fields.dataset,
                fields.folds.split,
                self._options,
                fields.label,
                fields.folds.group,
            )[2]
        else:
            names = load(fields.dataset, split, self._options, label="class")[1]
        return np.unique(np.asarray(names).astype(np.str_)).tolist()

    def row_digest(self, split: str) -> str:
        """Returns a hash of the rows of a split: their names and classes.

        It is of the data set's own split, without folds, in any order.
        """
        fields = self.run.data
        columns = [
            load(fields.dataset, split, self._options, label=label)[1]
            for label in ("name", "class")
        ]
        rows = sorted(
            zip(*(column.tolist() for column in columns), strict=True)
        )
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()

    def of_other_set(self, name: str, split: str):
        """Returns examples and labels of another data set, unprocessed."""
        options = self._options
        if not is_own_data(name):  # the run's division is not for its splits
            options = LoadOptions(options.data_dir, options.manual_dir)
        if (name, split) not in self._others:
            x, labels = load(name, split, options)
            self._require_no_overflow(x, f"the split {split!r}", name)
            self._others[name, split] = x, labels
        return self._others[name, split]

    @property
    def _options(self) -> LoadOptions:
        fields = self.run.data
        return LoadOptions(
            fields.data_dir or None,
            fields.manual_dir or None,
            fields.division.by,
            fields.division.seed,
        )

    @functools.cached_property
    def _training(self):
        """Returns the training split with its augmented copies."""
        fields = self.run.data
        x, labels = self.split(fields.split)
        if not fields.augmentation:
            return x, labels
        recordings, _ = self.unprocessed(fields.split)
        copies = augmented_copies(recordings, fields, self.run.training.seed)
        parts = [x, *map(self._long_enough, copies)]
        frames = [utterance for part in parts for utterance in part]
        x = datasets.Utterances(
            np.concatenate(frames), [len(utterance) for utterance in frames]
        )
        return x, np.concatenate([labels] * len(parts))

    def _long_enough(self, x):
        if not self.run.data.utterances.num_frames:
            return x
        if not isinstance(x, datasets.Utterances):
            raise ValueError(
                "config.utterances is for recordings; "
                f"{self.run.data.dataset} is {type(x).__name__}. Set "
                "config.utterances.num_frames=0"
            )
        return repeated(x, self.run.data.utterances.min_num_frames)

    def _processed(self, x, what: str):
        """Returns the model's inputs for examples after the front end.

        `what` names the examples in errors.
        """
        if self.run.data.backbone.network:
            x = backbone_features(x, self.run.data)
        else:
            x = self._long_enough(self._sized(x))
        self._require_no_overflow(x, what, self.run.data.dataset)
        return x

    def _require_no_overflow(self, x, what: str, dataset: str) -> None:
        """Every row that a model embeds passes here."""
        if self.run.encoder.name == "features_encoder":
            fields = dataclasses.replace(self.run.data, dataset=dataset)
            require_no_overflow(fields, x, what)

    def _sized(self, x):
        """Caches and resizes images that are read on demand, as configured."""
        images = self.run.data.images
        if isinstance(x, datasets.Images):
            x = x.cached(images.cache_gib * 2**30)
            if images.size:
                x = x.with_size(images.size, crop=images.crop)
        elif images.size:
            raise ValueError(
                f"config.images.size={images.size} is for images that are read "
                f"when needed; {self.run.data.dataset} is "
                f"{type(x).__name__} of one size. Leave the field at 0."
            )
        return x

    def _read(self, split: str, front_end: Part):
        return read_split(self.run.data, self._options, split, front_end)
