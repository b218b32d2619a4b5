"""Data sets by name."""

import contextlib
import difflib
import importlib
import logging
import os
import pathlib

import numpy as np
import tensorflow as tf

from embeddings_tf.compat import checksum_error
from embeddings_tf.compat import no_download_retries
from embeddings_tf.compat import size_and_checksum
from embeddings_tf.datasets.class_splits import CLASS_SPLITS
from embeddings_tf.datasets.class_splits import rows_of_classes
from embeddings_tf.datasets.images import Images
from embeddings_tf.datasets.n_digit.scikit_learn_digits import (
    SPLITS as _SCIKIT_LEARN_SPLITS,
)
from embeddings_tf.datasets.n_digit.scikit_learn_digits import (
    n_digit_from_scikit_learn,
)
from embeddings_tf.datasets.read_image_folder import read_image_folder
from embeddings_tf.datasets.speech import read_kaldi
from embeddings_tf.datasets.speech import read_recordings
from embeddings_tf.datasets.tfrecords import image_reader
from embeddings_tf.datasets.utterances import Utterances

_DATA_VARIABLE = "EMBEDDINGS_TF_DATA"
_MANUAL_VARIABLE = "EMBEDDINGS_TF_MANUAL"
_READ_BATCH = 1024
_CONNECTION_SECONDS = 5

# Sets that are made in memory: name -> (digits, gap).
_IN_MEMORY = {
    f"n_digit/digits_{num_digits}_{gap}": (num_digits, gap)
    for num_digits in (2, 3)
    for gap in _SCIKIT_LEARN_SPLITS
}
# Sets that are read where their original files are.
_IN_PLACE = ("kaldi", "voxceleb1", "voxceleb2")
_IMAGE_FOLDER = "image_folder"
# The label of sets of TensorFlow Datasets that name none themselves.
_LABELS = {"stanford_online_products": "class_id"}


def load(
    name: str,
    split: str,
    data_dir: str | os.PathLike | None = None,
    manual_dir: str | os.PathLike | None = None,
    *,
    label: str | None = None,
) -> tuple[np.ndarray | Images | Utterances, np.ndarray]:
    """Loads a split of a set: images, features or utterances, and labels.

    Use it for the sets of this library, for example `"n_digit/2_number"`, and
    for any set of images or recordings of TensorFlow Datasets, for example
    `"mnist"` or `"spoken_digit"`. The first
    time, a set is downloaded and prepared with a progress bar; later it is read
    from `data_dir` alone. `"n_digit/digits_2_number"` and its relatives are
    made in memory and need neither files nor a network, see
    `n_digit_from_scikit_learn`.

    Sets with several labels an image: `"sprites"`, its config
    `"sprites/weapon_visible"`, and `"small_norb"`; `FACTORS` in
    `embeddings_tf.datasets.sprites` and `.small_norb` names the columns.
    `"caltech_birds2011_inception_features"` has the features of a network
    instead of images.

    Splits by class, as few-shot learning and retrieval have them, of sets of
    TensorFlow Datasets: `"cifar100/cifar_fs"`, 64, 16 and 20 classes in
    `"train"`, `"validation"` and `"test"`; `"cars196/disjoint_classes"` and
    `"caltech_birds2011/disjoint_classes"`, the first half of the classes in
    `"train"`, the other in `"test"`. `"stanford_online_products"` has its
    official split, which is by class.

    Recordings that stay where they are, in folders of original files, nothing
    is prepared: `"voxceleb1"` and `"voxceleb2"`, splits `"dev"` and `"test"`,
    from `voxceleb1/dev/wav/speaker/video/utterance.wav`; and `"kaldi"`, whose
    splits are data directories such as `"data/train"` in the subfolder
    `kaldi`, from which their relative paths start. The label is the speaker;
    `label="name"` gives the names that lists of trials have.

    Images of your own: `"image_folder:PATH"` reads `PATH/class/*.jpg`, or
    `PATH/train/class/*.jpg` with the splits `"train"`, `"validation"` and
    `"test"`. Names end in .jpg, .jpeg or .png. Without folders of splits the
    classes are divided by their names, 60 % in `"train"`, 20 % in
    `"validation"` and 20 % in `"test"`. `"all"` has every image;
    `label="class"` gives the names of the classes, `label="name"` the paths of
    the images. docs/folder_of_images.md has the details.

    Args:
        name: `"builder/config"`, or `"builder"` for its default config; or
            `"image_folder:PATH"`, the path from the current folder.
        split: A split of the set, for example `"train"`. Sets that are prepared
            on disk accept slices such as `"train[:10%]"`, sums such as
            `"train+test"`, and `"all"`, too.
        data_dir: Folder in which prepared sets are kept, writable unless the
            set is there already. By default the environment variable
            `EMBEDDINGS_TF_DATA`, else the default of TensorFlow Datasets.
        manual_dir: Folder of original files, one subfolder a set, for machines
            without a network; possibly read-only. By default the environment
            variable `EMBEDDINGS_TF_MANUAL`, else none. Files that are not there
            are downloaded. A set of TensorFlow Datasets itself is searched in
            the subfolder of its name, or if there is none in the folder itself.
        label: Another feature of the set to be the label, for example
            `"audio/filename"` of `"spoken_digit"`, which tells the speaker. By
            default what the set itself names as the label.

    Returns:
        Images, `uint8` of shape `(images, height, width, channels)` in 0..255,
        or `Images` if they differ in size, which are read when asked for; or
        features, `float32` of shape `(images, dim)`, or `Utterances` if
        examples differ in length; and labels, `int32` of shape `(images,)` or
        `(images, factors)`, in the order in which the set is kept. A label that
        is text is `str`.

    Raises:
        ValueError: If the set, the config, the split or the label does not
            exist (the message lists what does), or a file is not what it should
            be.
        OSError: If a file is missing and cannot be downloaded, or the prepared
            data cannot be written or read.
        ImportError: If preparing a set needs a package that is not installed:
            pydub for recordings, OpenCV for CUB-200-2011.

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
            raise ValueError(f"{argument} must be a string, got {value!r}.")
    if name in _IN_MEMORY:
        num_digits, gap = _IN_MEMORY[name]
        known = _SCIKIT_LEARN_SPLITS[gap]
        if split not in known:
            raise ValueError(_unknown_split(name, split, known))
        if label is not None:
            raise ValueError(
                f"{name!r} has one label, got label={label!r}; leave it out."
            )
        return n_digit_from_scikit_learn(num_digits, gap, split)
    kind, _, path = name.partition(":")
    if kind == _IMAGE_FOLDER:
        if not path:
            raise ValueError(
                f"{name!r} names no folder: expected image_folder:PATH, for "
                "example image_folder:photos."
            )
        return read_image_folder(path, split, label)
    manual_dir = _folder(manual_dir, _MANUAL_VARIABLE)
    if name in _IN_PLACE:
        return _read_in_place(name, split, manual_dir, label)
    # Imported here because it is heavy and the sets in memory do not need it.
    import tensorflow_datasets as tfds

    data_dir = _folder(data_dir, _DATA_VARIABLE)
    if name not in CLASS_SPLITS:
        builder = _prepared(tfds, name, data_dir, manual_dir)
        return _read(tfds, builder, split, label)
    source, source_split, classes = CLASS_SPLITS[name]
    if split not in classes:
        raise ValueError(_unknown_split(name, split, classes))
    builder = _prepared(tfds, source, data_dir, manual_dir)
    x, labels = _read(tfds, builder, source_split, None)
    feature = builder.info.features[builder.info.supervised_keys[1]]
    rows = rows_of_classes(labels, classes[split], feature)
    if label is not None:
        _, labels = _read(tfds, builder, source_split, label)
    return x.take(rows) if isinstance(x, Images) else x[rows], labels[rows]


def _folder(path, variable):
    if path is not None and not isinstance(path, str | os.PathLike):
        raise ValueError(f"A folder must be a path, got {path!r}.")
    path = path or os.environ.get(variable) or None
    return None if path is None else pathlib.Path(path).expanduser()


def _read_in_place(name, split, manual_dir, label):
    """Utterances in files, and their speakers or names."""
    if label not in (None, "speaker", "name"):
        raise ValueError(
            f"{name} has no label {label!r}: expected one of speaker, name."
        )
    if manual_dir is None:
        raise FileNotFoundError(
            f"{name} is read from files that have to be fetched by hand; set "
            f"{_MANUAL_VARIABLE} or manual_dir to the folder whose subfolder "
            f"{name} has them."
        )
    folder = manual_dir / name / split
    if not folder.is_dir():
        parts = (manual_dir / name).glob("*/")
        known = ", ".join(sorted(path.name for path in parts)) or "nothing"
        raise FileNotFoundError(
            f"{folder} is no folder; there is {known} in {folder.parent}. Set "
            f"{_MANUAL_VARIABLE} or manual_dir to the folder that has {name}/"
            f"{split}."
        )
    if name == "kaldi":
        x, speakers, names = read_kaldi(folder, root=manual_dir / name)
    else:
        x, speakers, names = read_recordings(folder / "wav")
    if label == "name":
        return x, names
    if label == "speaker":
        return x, speakers
    return x, np.unique(speakers, return_inverse=True)[1].astype(np.int32)


def _prepared(tfds, name, data_dir, manual_dir):
    """Makes the builder of a set that is on disk, if need be prepared now."""
    builder = _make_builder(tfds, name, data_dir)
    if builder.data_path.exists():
        return builder
    if builder.name not in _own_builders():
        manual_dir = _subfolder_if_there(manual_dir, builder.name)
    elif hasattr(builder, "SOURCE"):
        # The set of TensorFlow Datasets that this one is made of.
        _prepared(tfds, builder.SOURCE, data_dir, manual_dir)
    _prepare(tfds, builder, manual_dir)
    # Read what is on disk, whoever prepared it.
    return _make_builder(tfds, name, data_dir)


def _subfolder_if_there(folder, name):
    if folder is not None and (folder / name).is_dir():
        return folder / name
    return folder


def _own_builders():
    """Names of the builder folders next to this file."""
    files = pathlib.Path(__file__).parent.glob("*/*_dataset_builder.py")
    return sorted(
        file.parent.name
        for file in files
        if file.name == f"{file.parent.name}_dataset_builder.py"
    )


def _make_builder(tfds, name, data_dir):
    builder_name, _, config = name.partition("/")
    if builder_name in _own_builders():
        module = importlib.import_module(
            f"embeddings_tf.datasets.{builder_name}"
            f".{builder_name}_dataset_builder"
        )
        _check_config(builder_name, config, module.Builder)
        return module.Builder(config=config or None, data_dir=data_dir)
    theirs = set(tfds.list_builders(with_community_datasets=False))
    theirs -= set(_own_builders())
    if builder_name not in theirs:
        raise ValueError(_unknown_name(builder_name, theirs))
    _check_config(builder_name, config, tfds.builder_cls(builder_name))
    return tfds.builder(name, data_dir=data_dir, try_gcs=False)


def _unknown_name(name, theirs):
    ours = sorted([*_own_builders(), *_IN_PLACE, f"{_IMAGE_FOLDER}:PATH"])
    close = difflib.get_close_matches(name, [*ours, *sorted(theirs)])
    hint = f"; did you mean {' or '.join(close)}?" if close else "."
    return (
        f"Unknown data set {name!r}: expected one of this library, "
        f"{', '.join(ours)}, or one of the {len(theirs)} of TensorFlow "
        f"Datasets (tfds.list_builders() lists them){hint}"
    )


def _check_config(builder_name, config, builder_cls):
    # "config:version" and "builder:version" are names of TFDS, too.
    config = config.partition(":")[0]
    known = list(builder_cls.builder_configs)
    if not config or config in {key.partition(":")[0] for key in known}:
        return
    known += [
        name.partition("/")[2]
        for name in (*_IN_MEMORY, *CLASS_SPLITS)
        if name.startswith(f"{builder_name}/")
    ]
    raise ValueError(
        f"Unknown config {config!r} of the data set {builder_name!r}: expected "
        + (f"one of {', '.join(known)}." if known else "no config at all.")
    )


def _unknown_split(name, split, known):
    return (
        f"Unknown split {split!r} of {name!r}: expected one of "
        f"{', '.join(known)}."
    )


def _prepare(tfds, builder, manual_dir):
    """Downloads and prepares a set; TFDS leaves all of it or nothing."""
    from requests import exceptions

    config = tfds.download.DownloadConfig(
        manual_dir=manual_dir, try_download_gcs=False
    )
    try:
        with (
            contextlib.nullcontext()
            if _hosts_answer(builder, manual_dir)
            else no_download_retries()
        ):
            builder.download_and_prepare(download_config=config)
    except (
        exceptions.ConnectionError,
        exceptions.Timeout,
        tfds.download.DownloadError,
    ) as error:
        raise FileNotFoundError(
            _missing_file(builder, manual_dir, error)
        ) from error
    except checksum_error() as error:
        raise ValueError(_wrong_file(builder, manual_dir, error)) from error
    except AssertionError as error:
        # How TFDS says that files have to be put into manual_dir by hand.
        raise FileNotFoundError(
            f"{builder.info.full_name} needs files that have to be fetched by "
            f"hand; set {_MANUAL_VARIABLE} or manual_dir to the folder that "
            f"has them: {_one_line(error)}"
        ) from error
    except ImportError as error:
        raise ImportError(
            f"{builder.info.full_name} needs a package that is not installed "
            "(pydub reads recordings: pip install 'embeddings_tf[speech]'; "
            "cv2 is OpenCV: pip install 'embeddings_tf[birds]'; h5py reads "
            "MATLAB files: pip install 'embeddings_tf[hdf5]'): "
            f"{_one_line(error)}"
        ) from error
    except (OSError, tf.errors.OpError) as error:
        if isinstance(error, FileNotFoundError) and error.errno is None:
            # A builder of this library says which original file it misses.
            raise
        # Another process may have prepared the same set meanwhile.
        if not builder.data_path.exists():
            raise OSError(
                f"{builder.info.full_name} could not be prepared in "
                f"{builder.data_dir}; set {_DATA_VARIABLE} or data_dir to a "
                f"writable folder with enough space: {_one_line(error)}"
            ) from error


def _hosts_answer(builder, manual_dir):
    """Tries the hosts of the files that are not in `manual_dir`."""
    import requests

    hosts = {
        "/".join(url.split("/", 3)[:3])
        for url, info in (builder.url_infos or {}).items()
        if url.startswith("http") and not _is_in_folder(info, manual_dir)
    }
    for host in sorted(hosts)[:3]:
        try:
            requests.head(host, timeout=_CONNECTION_SECONDS)
        except (requests.ConnectionError, requests.Timeout):
            return False
    return True


def _is_in_folder(info, folder):
    return (
        folder is not None
        and info.filename is not None
        and (folder / info.filename).exists()
    )


def _missing_file(builder, manual_dir, error):
    request = getattr(error, "request", None)
    url = getattr(request, "url", None)
    info = (builder.url_infos or {}).get(url)
    file = info.filename if info and info.filename else url or "a file"
    searched = (
        f"but neither {_MANUAL_VARIABLE} nor manual_dir is set"
        if manual_dir is None
        else f"which is not in {manual_dir}"
    )
    where = f" from {url}" if url and file != url else ""
    return (
        f"{builder.info.full_name} needs {file}, {searched}, and it could "
        f"not be downloaded{where} ({type(error).__name__}); connect to a "
        f"network, or set {_MANUAL_VARIABLE} to a folder that has {file}."
    )


def _wrong_file(builder, manual_dir, error):
    for info in (builder.url_infos or {}).values():
        if not _is_in_folder(info, manual_dir):
            continue
        found = size_and_checksum(manual_dir / info.filename)
        if found != info:
            return (
                f"{manual_dir / info.filename} is truncated or altered: "
                f"expected {int(info.size)} bytes with sha256 "
                f"{info.checksum}, found {int(found.size)} bytes with sha256 "
                f"{found.checksum}; replace it by the original file."
            )
    return (
        f"A file of {builder.info.full_name} is not what it should be; delete "
        f"it and try again: {_one_line(error)}"
    )


def _one_line(error):
    return " ".join(str(error).split())


def _read(tfds, builder, split, label):
    try:
        num_examples = builder.info.splits[split].num_examples
    except (KeyError, ValueError) as error:
        # TFDS understands more than names: "train[:10%]", "train+test".
        raise ValueError(
            _unknown_split(
                builder.info.full_name, split, list(builder.info.splits)
            )
        ) from error
    x_key, label_key = builder.info.supervised_keys or (
        "image",
        _LABELS.get(builder.name, "label"),
    )
    features = builder.info.features
    if x_key not in features or label_key not in features:
        raise ValueError(
            f"{builder.info.full_name} has no {x_key!r} and {label_key!r} to "
            f"load, only {', '.join(features)}; read it with tfds.load."
        )
    if label is not None:
        known = [key for key in features if _is_label(tfds, features[key])]
        if label not in known:
            raise ValueError(
                f"{builder.info.full_name} has no label {label!r}: expected "
                f"one of {', '.join(known)}."
            )
        label_key = label
    shape = features[x_key].shape
    is_image = isinstance(features[x_key], tfds.features.Image)
    read_later = is_image and None in shape
    if None in shape[1:] and not read_later:
        raise ValueError(
            f"Examples of {builder.info.full_name} differ in shape, {shape}; "
            "read it with tfds.load and make them alike."
        )
    is_text = features[label_key].np_dtype == np.object_
    labels = np.empty(
        (num_examples, *features[label_key].shape),
        np.object_ if is_text else np.int32,
    )
    has_length = shape[:1] == (None,) and not read_later
    if has_length:
        x = [None] * num_examples
    elif read_later:
        x = None
    else:
        x = np.empty((num_examples, *shape), features[x_key].np_dtype)
    with _no_warnings_about_itself():
        dataset = builder.as_dataset(
            split=split,
            batch_size=None if has_length else _READ_BATCH,
            shuffle_files=False,
            # One file after the other: the order of the set.
            read_config=tfds.ReadConfig(
                interleave_cycle_length=1, try_autocache=False
            ),
            decoders=tfds.decode.PartialDecoding(
                {label_key} if read_later else {x_key, label_key}
            ),
        )
    first = 0
    try:
        for batch in dataset.as_numpy_iterator():
            if has_length:
                x[first] = batch[x_key]
                labels[first] = batch[label_key]
                first += 1
            else:
                block = slice(first, first + len(batch[label_key]))
                if not read_later:
                    x[block] = batch[x_key]
                labels[block] = batch[label_key]
                first = block.stop
        if read_later:
            x = Images(*image_reader(builder, split, x_key))
    except (
        EOFError,
        tf.errors.DataLossError,
        tf.errors.InvalidArgumentError,
    ) as error:
        raise OSError(_damaged(builder)) from error
    if first != num_examples or len(x) != num_examples:
        raise OSError(_damaged(builder))
    if is_text:
        labels = np.char.decode(labels.astype(np.bytes_), "utf-8")
    if has_length:
        x = Utterances(
            np.concatenate(x),
            [len(values) for values in x],
            sample_rate=getattr(features[x_key], "sample_rate", None) or None,
        )
    return x, labels


@contextlib.contextmanager
def _no_warnings_about_itself():
    """Partial decoding of TFDS uses what TFDS has deprecated, and logs it."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _is_label(tfds, feature):
    """Whether a feature is integers of one shape, or text."""
    return (
        isinstance(feature, tfds.features.Tensor)
        and not isinstance(feature, tfds.features.Image | tfds.features.Audio)
        and None not in feature.shape
        and (
            isinstance(feature, tfds.features.Text)
            or np.issubdtype(feature.np_dtype, np.integer)
        )
    )


def _damaged(builder):
    return (
        f"The prepared data of {builder.info.full_name} in {builder.data_dir} "
        "is damaged; delete that folder, it is prepared again."
    )
