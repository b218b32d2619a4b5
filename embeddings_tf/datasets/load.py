"""Loads data sets by name."""

import os
import pathlib

import numpy as np

from embeddings_tf.datasets.builders import COLOUR_ORIENTATION
from embeddings_tf.datasets.builders import IN_MEMORY
from embeddings_tf.datasets.builders import IN_PLACE
from embeddings_tf.datasets.builders import OWN_DATA
from embeddings_tf.datasets.builders import make_builder
from embeddings_tf.datasets.builders import own_builders
from embeddings_tf.datasets.builders import subfolder_if_there
from embeddings_tf.datasets.builders import unknown_split
from embeddings_tf.datasets.class_splits import CLASS_SPLITS
from embeddings_tf.datasets.class_splits import rows_of_classes
from embeddings_tf.datasets.colour_orientation import (
    SPLITS as _COLOUR_ORIENTATION_SPLITS,
)
from embeddings_tf.datasets.colour_orientation import ColourOrientation
from embeddings_tf.datasets.images import Images
from embeddings_tf.datasets.n_digit.scikit_learn_digits import (
    SPLITS as _SCIKIT_LEARN_SPLITS,
)
from embeddings_tf.datasets.n_digit.scikit_learn_digits import (
    n_digit_from_scikit_learn,
)
from embeddings_tf.datasets.named_classes import number_names
from embeddings_tf.datasets.own_data import is_own_data
from embeddings_tf.datasets.own_data import own_data
from embeddings_tf.datasets.prepare import DATA_VARIABLE
from embeddings_tf.datasets.prepare import MANUAL_VARIABLE
from embeddings_tf.datasets.prepare import prepare
from embeddings_tf.datasets.read_prepared import read_prepared
from embeddings_tf.datasets.speech import read_kaldi
from embeddings_tf.datasets.speech import read_recordings
from embeddings_tf.datasets.utterances import Utterances


def load(
    name: str,
    split: str,
    data_dir: str | os.PathLike | None = None,
    manual_dir: str | os.PathLike | None = None,
    *,
    label: str | None = None,
    divide: str = "classes",
    seed: int = 0,
) -> tuple[np.ndarray | ColourOrientation | Images | Utterances, np.ndarray]:
    """Loads a split of a data set: images, features or utterances, and labels.

    Use it for the data sets of this library, for example `"n_digit/2_number"`,
    and for any data set of images or recordings in TensorFlow Datasets, for
    example `"mnist"` or `"spoken_digit"`. The first call downloads and prepares
    the data set, with a progress bar; later calls only read `data_dir`.
    `"n_digit/digits_2_number"` and related names are made in memory and need
    neither files nor a network, see `n_digit_from_scikit_learn`.
    `"colour_orientation"` is drawn when it is read, see `ColourOrientation`.

    Data sets with several labels per image: `"sprites"`, its config
    `"sprites/weapon_visible"`, and `"small_norb"`; `FACTORS` in
    `embeddings_tf.datasets.sprites` and `.small_norb` names the columns.
    `"omniglot_rotations"` has each character of Omniglot in four rotations,
    each a class, and the splits of few-shot learning.
    `"caltech_birds2011_inception_features"` contains the features of a network
    instead of images.

    Splits by class, for few-shot learning and retrieval: `"cifar100/cifar_fs"`
    has 64, 16 and 20 classes in `"train"`, `"validation"` and `"test"`.
    `"cars196/disjoint_classes"` and `"caltech_birds2011/disjoint_classes"` have
    the first half of the classes in `"train"` and the second half in `"test"`.
    `"stanford_online_products"` has its official split, which is by class.

    Recordings are read in place, from folders of original files.
    `"voxceleb1"` and `"voxceleb2"` have the splits `"dev"` and `"test"`, with
    files such as `voxceleb1/dev/wav/speaker/video/utterance.wav`. The splits of
    `"kaldi"` are data directories such as `"data/train"` in the subfolder
    `kaldi`, from which their relative paths start. The label is the speaker;
    `label="name"` returns the names that lists of trials use.

    Data of your own, see docs/own_data.md:

    | name | contains |
    |---|---|
    | `"image_folder:PATH"` | `PATH/class/*.jpg` |
    | `"audio_folder:PATH"` | `PATH/speaker/**/*.wav` |
    | `"csv:FILE"` | paths or features, and labels |
    | `"arrays:FILE.npz"` | arrays `x` and `labels` |
    | `"FILE.py:FUNCTION"` | what `FUNCTION()` returns: `(x, labels)` |

    Without splits of their own, the classes are divided by their names: 60 %
    in `"train"`, 20 % in `"validation"` and 20 % in `"test"`. With
    `divide="examples"`, the examples of every class are divided instead.
    `"all"` contains every example.

    Args:
        name: `"builder/config"`, or `"builder"` for its default config; or
            data of your own, with a path from the current folder.
        split: A split of the data set, for example `"train"`. Data sets that
            are prepared on disk also accept slices such as `"train[:10%]"`,
            sums such as `"train+test"`, and `"all"`.
        data_dir: Folder of prepared data sets; writable unless it contains the
            data set. By default the environment variable `EMBEDDINGS_TF_DATA`,
            else the default of TensorFlow Datasets.
        manual_dir: Folder of original files, one subfolder per data set, for
            machines without a network; may be read-only. By default the
            environment variable `EMBEDDINGS_TF_MANUAL`, else none. Missing
            files are downloaded. Data sets of TensorFlow Datasets are searched
            in the subfolder of their name, then in the folder itself.
        label: Another feature of the data set to use as the label, for example
            `"audio/filename"` of `"spoken_digit"`, which contains the speaker.
            `"class"` returns the names of the classes, `str` of shape
            `(examples,)`, for every data set. By default the data set's own
            label.
        divide: For data of your own without splits: `"classes"` holds out
            whole classes, `"examples"` holds out a part of every class.
        seed: Random seed of this division.

    Returns:
        The examples and labels, in the order of the data set. Examples are
        images, `uint8` of shape `(images, height, width, channels)` in 0..255;
        `Images`, read on demand, if images differ in size; features,
        `float32` of shape `(images, dim)`; or `Utterances` if examples differ
        in length. Labels are `int32` of shape `(images,)` or `(images,
        factors)`, or `str` for text.

    Raises:
        ValueError: If the data set, the config, the split or the label does
            not exist (the message lists valid names), or a file has unexpected
            contents.
        OSError: If a file is missing and cannot be downloaded, or the prepared
            data cannot be written or read.
        ImportError: If a package is missing: pydub for preparing recordings,
            OpenCV for CUB-200-2011, pandas for tables, soundfile for FLAC.

    Example:

    >>> images, labels = embeddings_tf.datasets.load(
    ...     "n_digit/digits_2_number", "train"
    ... )
    >>> images.shape, labels.shape
    ((6300, 8, 16, 1), (6300,))

    Recordings, with the digit and with the speaker (preparing needs pydub)::

        x, digits = embeddings_tf.datasets.load("spoken_digit", "train")
        _, names = embeddings_tf.datasets.load(
            "spoken_digit", "train", label="audio/filename"
        )  # "7_jackson_32.wav"
        speakers = np.unique(
            [name.split("_")[1] for name in names], return_inverse=True
        )[1]
    """
    for argument, value in (("name", name), ("split", split)):
        if not isinstance(value, str):
            raise ValueError(
                f"{argument} must be a string; received {value!r}."
            )
    if label is not None and not isinstance(label, str):
        raise ValueError(
            f"label must be the name of a feature or None; received {label!r}."
        )
    if is_own_data(name):
        return own_data(name, split, label, divide, seed)
    if divide != "classes" or seed != 0:
        raise ValueError(
            f"{name!r} has splits of its own; divide and seed are for "
            f"{', '.join(OWN_DATA)} without splits."
        )
    if name == COLOUR_ORIENTATION:
        _check_split(name, split, _COLOUR_ORIENTATION_SPLITS, label)
        x = ColourOrientation(*_COLOUR_ORIENTATION_SPLITS[split])
        return x, x.labels.astype(np.str_) if label == "class" else x.labels
    if name in IN_MEMORY:
        num_digits, gap = IN_MEMORY[name]
        _check_split(name, split, _SCIKIT_LEARN_SPLITS[gap], label)
        images, labels = n_digit_from_scikit_learn(num_digits, gap, split)
        return images, labels.astype(np.str_) if label == "class" else labels
    manual_dir = _folder(manual_dir, MANUAL_VARIABLE)
    if name in IN_PLACE:
        return _read_in_place(name, split, manual_dir, label)
    # Imported here because it is slow and data in memory does not need it.
    import tensorflow_datasets as tfds

    data_dir = _folder(data_dir, DATA_VARIABLE)
    if name not in CLASS_SPLITS:
        builder = _prepared(tfds, name, data_dir, manual_dir)
        return read_prepared(tfds, builder, split, label)
    source, source_split, classes = CLASS_SPLITS[name]
    if split not in classes:
        raise ValueError(unknown_split(name, split, classes))
    builder = _prepared(tfds, source, data_dir, manual_dir)
    x, labels = read_prepared(tfds, builder, source_split, None)
    feature = builder.info.features[builder.info.supervised_keys[1]]
    rows = rows_of_classes(labels, classes[split], feature)
    if label is not None:
        _, labels = read_prepared(tfds, builder, source_split, label)
    return x.take(rows) if isinstance(x, Images) else x[rows], labels[rows]


def _check_split(name, split, known, label):
    if split not in known:
        raise ValueError(unknown_split(name, split, known))
    if label not in (None, "class"):
        raise ValueError(
            f"{name!r} has one label; received label={label!r}; leave it out."
        )


def _folder(path, variable):
    if path is not None and not isinstance(path, str | os.PathLike):
        raise ValueError(f"A folder must be a path; received {path!r}.")
    path = path or os.environ.get(variable) or None
    return None if path is None else pathlib.Path(os.path.expanduser(path))


def _read_in_place(name, split, manual_dir, label):
    """Returns utterances in files, and their speakers or names."""
    if label not in (None, "class", "speaker", "name"):
        raise ValueError(
            f"{name} has no label {label!r}: expected one of class, speaker, "
            "name."
        )
    if manual_dir is None:
        raise FileNotFoundError(
            f"{name} is read from files that you have to fetch by hand; set "
            f"{MANUAL_VARIABLE} or manual_dir to the folder whose subfolder "
            f"{name} contains them."
        )
    folder = manual_dir / name / split
    if not folder.is_dir():
        parts = (manual_dir / name).glob("*/")
        known = ", ".join(sorted(path.name for path in parts)) or "nothing"
        raise FileNotFoundError(
            f"{folder} is not a folder; {folder.parent} contains {known}. Set "
            f"{MANUAL_VARIABLE} or manual_dir to the folder that contains "
            f"{name}/{split}."
        )
    if name == "kaldi":
        x, speakers, names = read_kaldi(folder, root=manual_dir / name)
    else:
        x, speakers, names = read_recordings(folder / "wav")
    if label == "name":
        return x, names
    if label in ("class", "speaker"):
        return x, speakers
    return x, number_names(speakers)


def _prepared(tfds, name, data_dir, manual_dir):
    """Returns the builder of a data set on disk; prepares it if needed."""
    builder = make_builder(tfds, name, data_dir)
    if builder.data_path.exists():
        return builder
    if builder.name not in own_builders():
        manual_dir = subfolder_if_there(manual_dir, builder.name)
    elif hasattr(builder, "SOURCE"):
        # The data set of TensorFlow Datasets from which this one is made.
        _prepared(tfds, builder.SOURCE, data_dir, manual_dir)
    prepare(tfds, builder, manual_dir)
    # Reads data on disk even if another program prepared it.
    return make_builder(tfds, name, data_dir)
