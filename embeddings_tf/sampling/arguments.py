"""Checks of the arguments of all samplers."""

from typing import Any

import numpy as np

from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.counted import counted
from embeddings_tf.sampling.class_table import ClassTable


def class_ids(labels: Any) -> np.ndarray:
    """Returns labels `(num_examples,)`; ValueError unless they are ids."""
    labels = array("labels", labels)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]  # as in the arrays of Keras
    if labels.ndim != 1:
        raise ValueError(
            "`labels` must be one class id per example, (num_examples,); "
            f"received shape {labels.shape}. One-hot labels become ids by "
            "np.argmax(labels, axis=-1)."
        )
    if not len(labels):
        raise ValueError(
            "`labels` must be one class id per example; received none. Pass "
            "the labels of the data set that the indices point into."
        )
    check_integers("labels", labels)
    return labels


def check_integers(name: str, values: np.ndarray) -> None:
    """ValueError unless the array contains integers."""
    if not np.issubdtype(values.dtype, np.integer):
        raise ValueError(
            f"`{name}` must be integers; received dtype {values.dtype}. Turn "
            "other ids into integers by "
            "np.unique(ids, return_inverse=True)[1]."
        )


def check_num_classes(table: ClassTable, num_classes: int) -> None:
    """ValueError unless there are so many classes."""
    if len(table.ids) < num_classes:
        raise ValueError(
            "`num_classes` must be at most the number of classes in `labels`, "
            f"{len(table.ids)}; received {num_classes}."
        )


def check_instances(
    table: ClassTable, needed: int, what: str, remedy: str, where: str = ""
) -> None:
    """ValueError unless each class has as many examples as needed.

    Args:
        table: The examples of each class.
        needed: The number of examples.
        what: The argument that needs them, with its value.
        remedy: How to mend it, a sentence of the message.
        where: Start of the message.
    """
    few = np.flatnonzero(table.counts < needed)
    if len(few):
        raise ValueError(
            f"{where}a class must have at least {counted(needed, 'instance')} "
            f"({what}); "
            f"class {table.ids[few[0]]} has {table.counts[few[0]]}. "
            f"{len(few)} of {counted(len(table.ids), 'class', 'classes')} "
            f"{'has' if len(few) == 1 else 'have'} too few: {remedy}."
        )
