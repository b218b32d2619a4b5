"""Checks examples and labels in memory."""

import numpy as np
import tensorflow as tf

from embeddings_tf.datasets.named_classes import joined
from embeddings_tf.datasets.named_classes import number_names
from embeddings_tf.datasets.names_in_data import normalized
from embeddings_tf.datasets.names_in_data import require_no_blanks
from embeddings_tf.datasets.names_in_data import require_not_empty
from embeddings_tf.datasets.source import Source
from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.first_not_finite import first_not_finite

# For labels of another kind of dtype.
_REMEDIES = {
    "b": " Give integers: labels.astype(int).",
    "f": " Give integers, if all are whole numbers: labels.astype(int).",
    "O": " Give text: labels.astype(str).",
    "S": " Give text: np.char.decode(labels).",
}


def source_of_arrays(place: str, x, labels) -> Source:
    """Returns a source of arrays.

    Args:
        place: The file or function, for messages.
        x: Numbers of shape `(examples, ...)`, or an object with `take` that
            reads examples when they are needed, such as `Images`.
        labels: Integers or text of shape `(examples,)`, or `(examples,
            factors)`.

    Raises:
        ValueError: If the shapes or types are others, a label is empty or has
            blanks around it, or `x` contains NaN, infinity or numbers
            beyond float32.
    """
    labels = array("labels", labels)
    if not is_read_later(x):
        x = _numbers(place, x)
    if labels.ndim not in (1, 2) or labels.dtype.kind not in "iuU":
        raise ValueError(
            f"{place}: labels must be integers or text of shape (examples,) or "
            f"(examples, factors); received dtype {labels.dtype} and shape "
            f"{labels.shape}.{_REMEDIES.get(labels.dtype.kind, '')}"
        )
    if len(x) != len(labels) or not labels.size:
        raise ValueError(
            f"{place} must have as many labels as examples, at least one; "
            f"received {len(labels)} labels of {len(x)} examples."
        )
    if labels.dtype.kind == "U":
        labels = checked_names(place, "the label of example", labels)
    names = labels.astype(np.str_)
    if labels.dtype.kind != "U":
        limits = np.iinfo(np.int32)
        if labels.min() < limits.min or labels.max() > limits.max:
            raise ValueError(
                f"{place}: labels must fit in 32 bits; received "
                f"{labels.min()} to {labels.max()}."
            )
        numbers = labels.astype(np.int32)
    elif labels.ndim == 1:
        numbers = number_names(labels)
    else:
        factors = [number_names(column) for column in labels.T]
        numbers = np.stack(factors, axis=1)
    columns = {
        "class": names if labels.ndim == 1 else joined(names),
        "name": np.arange(len(labels)).astype(np.str_),
    }
    return Source(place, x, numbers, columns)


def checked_names(place: str, what: str, names: np.ndarray) -> np.ndarray:
    """Returns texts in the normal form NFC, as tables and folders have them.

    Args:
        place: The file or function, for messages.
        what: Words before the number of a text in messages, such as "the label
            of example".
        names: Texts of any shape.

    Raises:
        ValueError: If a text is empty or has blanks around it.
    """
    found = np.array(normalized(names.ravel().tolist()), np.str_)

    def where(row):
        return f"{place}: {what} {row // width}"

    width = max(1, names[:1].size)
    require_not_empty(found, where)
    require_no_blanks(found, where)
    return found.reshape(names.shape)


def is_read_later(x) -> bool:
    """Whether examples are read when they are needed, such as `Images`."""
    methods = "take", "__getitem__", "__len__"
    return all(hasattr(x, name) for name in methods) and not hasattr(
        x, "__array__"
    )


def _numbers(place, x):
    if isinstance(x, tf.data.Dataset):
        raise ValueError(
            f"{place}: x must be numbers of shape (examples, ...); received a "
            "tf.data.Dataset. Collect it into arrays."
        )
    try:
        x = np.asarray(x)
    except ValueError as error:
        raise ValueError(
            f"{place}: the examples differ in shape ({error}); give them one "
            "shape, or return datasets.Images or datasets.Utterances."
        ) from error
    if x.ndim < 1 or x.dtype.kind not in "biuf":
        remedy = ""
        if x.dtype.kind == "O":
            remedy = (
                " Of a pandas table, give numbers: x.astype('float32'), "
                "without columns of text or dates."
            )
        raise ValueError(
            f"{place}: x must be numbers of shape (examples, ...); received "
            f"dtype {x.dtype} and shape {x.shape}.{remedy}"
        )
    given = x
    if x.dtype.kind == "f" and x.dtype.itemsize > 4:
        with np.errstate(over="ignore"):
            x = x.astype(np.float32)
    row = first_not_finite(x)
    if row is not None:
        fault = "contains NaN or infinity; remove or repair it"
        if np.isfinite(given[row]).all():
            fault = (
                "contains numbers that float32 cannot hold, beyond 3.4e38; "
                "scale the data"
            )
        raise ValueError(f"{place}: example {row} {fault}.")
    return x
