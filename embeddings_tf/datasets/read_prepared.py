"""Reads a split of a prepared data set into memory."""

import contextlib
import logging

import numpy as np
import tensorflow as tf

from embeddings_tf.datasets.builders import unknown_split
from embeddings_tf.datasets.images import Images
from embeddings_tf.datasets.named_classes import joined
from embeddings_tf.datasets.tfrecords import image_reader
from embeddings_tf.datasets.utterances import Utterances

_READ_BATCH = 1024
# The label of data sets in TensorFlow Datasets that declare none.
_LABELS = {"stanford_online_products": "class_id"}


def read_prepared(tfds, builder, split, label):
    """Reads the examples and labels of a split.

    Args:
        tfds: The module `tensorflow_datasets`.
        builder: A builder whose data is prepared.
        split: Name of a split.
        label: Name of the feature with the labels; "class": the names of the
            data set's own labels; None: its own labels.

    Returns:
        Examples, as an array, `Images` or `Utterances`, and labels.

    Raises:
        ValueError: If the split or the label does not exist, or examples or
            labels have no form that can be read.
        OSError: If the prepared data is damaged.
    """
    num_examples = _num_examples(builder, split)
    features = builder.info.features
    x_key, label_key = _checked_keys(tfds, builder, label)
    shape = features[x_key].shape
    read_later = None in shape and isinstance(
        features[x_key], tfds.features.Image
    )
    if None in shape[1:] and not read_later:
        raise ValueError(
            f"Examples of {builder.info.full_name} differ in shape, {shape}; "
            "read it with tfds.load and give examples one shape."
        )
    is_text = features[label_key].np_dtype == np.object_
    labels = np.empty(
        (num_examples, *features[label_key].shape),
        np.object_ if is_text else features[label_key].np_dtype,
    )
    has_length = shape[:1] == (None,) and not read_later
    if has_length:
        x = [None] * num_examples
    elif read_later:
        x = None
    else:
        x = np.empty((num_examples, *shape), features[x_key].np_dtype)
    keys = {label_key} if read_later else {x_key, label_key}
    batch_size = None if has_length else _READ_BATCH
    dataset = _in_order(tfds, builder, split, keys, batch_size)
    try:
        count = _fill(x, labels, dataset, x_key, label_key, has_length)
        if read_later:
            x = Images(*image_reader(builder, split, x_key))
    except (
        EOFError,
        tf.errors.DataLossError,
        tf.errors.InvalidArgumentError,
    ) as error:
        raise OSError(_damaged(builder)) from error
    if count != num_examples or len(x) != num_examples:
        raise OSError(_damaged(builder))
    if is_text:
        labels = np.char.decode(labels.astype(np.bytes_), "utf-8")
    else:
        labels = _fitting(labels, label_key, builder)
    if label == "class":
        labels = _names(features[label_key], labels)
    if has_length:
        x = Utterances(
            np.concatenate(x),
            [len(values) for values in x],
            sample_rate=getattr(features[x_key], "sample_rate", None) or None,
        )
    return x, labels


def _num_examples(builder, split):
    try:
        return builder.info.splits[split].num_examples
    except (KeyError, ValueError) as error:
        # TFDS also accepts "train[:10%]" and "train+test".
        raise ValueError(
            unknown_split(
                builder.info.full_name, split, list(builder.info.splits)
            )
        ) from error


def _checked_keys(tfds, builder, label):
    """Returns the names of examples and of the wanted label.

    Raises:
        ValueError: If a feature is missing or cannot be read.
    """
    features = builder.info.features
    x_key, label_key = _keys(tfds, builder)
    if x_key not in features or label_key not in features:
        raise ValueError(
            f"{builder.info.full_name} has no {x_key!r} and {label_key!r} to "
            f"load, only {', '.join(features)}; read it with tfds.load."
        )
    if label not in (None, "class"):
        known = [key for key in features if _is_label(tfds, features[key])]
        known = ["class", *known]
        if label not in known:
            raise ValueError(
                f"{builder.info.full_name} has no label {label!r}: expected "
                f"one of {', '.join(known)}."
            )
        label_key = label
    _require_label(tfds, builder, x_key, label_key)
    return x_key, label_key


def _in_order(tfds, builder, split, keys, batch_size):
    """Returns some features of a split as a dataset, in the stored order."""
    with _no_warnings_about_itself():
        return builder.as_dataset(
            split=split,
            batch_size=batch_size,
            shuffle_files=False,
            # Files are read one by one, to keep the order of the data set.
            read_config=tfds.ReadConfig(
                interleave_cycle_length=1, try_autocache=False
            ),
            decoders=tfds.decode.PartialDecoding(keys),
        )


def _fill(x, labels, dataset, x_key, label_key, has_length):
    """Writes examples, unless `x` is None, and labels; returns their number."""
    first = 0
    for batch in dataset.as_numpy_iterator():
        if has_length:
            rows, last = first, first + 1
        else:
            last = first + len(batch[label_key])
            rows = slice(first, last)
        if x is not None:
            x[rows] = batch[x_key]
        labels[rows] = batch[label_key]
        first = last
    return first


def _keys(tfds, builder):
    """Returns the names of examples and labels in a data set."""
    keys = builder.info.supervised_keys or (
        "image",
        _LABELS.get(builder.name, "label"),
    )
    x_key, label_key = keys[:2]
    features = builder.info.features
    is_image = {
        key: key in features and isinstance(features[key], tfds.features.Image)
        for key in (x_key, label_key)
    }
    # Some declare the name of a face as input and the image as its label.
    if is_image[label_key] and not is_image[x_key]:
        return label_key, x_key
    return x_key, label_key


def _require_label(tfds, builder, x_key, label_key):
    """Raises ValueError unless examples are numbers with one label each."""
    features = builder.info.features
    if isinstance(features[x_key], tfds.features.Text):
        raise ValueError(
            f"{builder.info.full_name} has examples of text; read it with "
            "tfds.load, and turn the text into numbers."
        )
    if not _is_label(tfds, features[label_key]):
        feature = features[label_key]
        raise ValueError(
            f"{builder.info.full_name} has the label {label_key!r} of shape "
            f"{feature.shape} and type {feature.dtype}; a label is text, or "
            "integers of one shape. Read it with tfds.load."
        )


def _fitting(labels, key, builder):
    """Returns labels as int32; ValueError if they do not fit."""
    limits = np.iinfo(np.int32)
    if len(labels) and not limits.min <= labels.min() <= labels.max() <= (
        limits.max
    ):
        raise ValueError(
            f"{builder.info.full_name}: labels must fit in 32 bits; {key!r} is "
            f"from {labels.min()} to {labels.max()}. Read it with tfds.load, "
            "and number the classes: np.unique(labels, return_inverse=True)[1]."
        )
    return labels.astype(np.int32)


@contextlib.contextmanager
def _no_warnings_about_itself():
    """Silences TFDS: its partial decoding logs its own deprecations."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _is_label(tfds, feature):
    """Whether a feature contains integers of one shape, or text."""
    return (
        isinstance(feature, tfds.features.Tensor)
        and not isinstance(feature, tfds.features.Image | tfds.features.Audio)
        and None not in feature.shape
        and (
            isinstance(feature, tfds.features.Text)
            or np.issubdtype(feature.np_dtype, np.integer)
        )
    )


def _names(feature, labels):
    """Returns the names of the classes of labels, `(examples,)`."""
    if labels.ndim == 2:
        return joined(labels)
    if not hasattr(feature, "int2str"):
        return labels.astype(np.str_)
    found, inverse = np.unique(labels, return_inverse=True)
    # A label of -1 stands for none.
    known = [
        feature.int2str(int(label)) if label >= 0 else str(label)
        for label in found
    ]
    return np.array(known, np.str_)[inverse.ravel()]


def _damaged(builder):
    return (
        f"The prepared data of {builder.info.full_name} in {builder.data_dir} "
        "is damaged; delete that folder, and the data is prepared again."
    )
