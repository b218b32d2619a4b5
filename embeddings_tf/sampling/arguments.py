"""Checks of the arguments of all samplers."""

from numbers import Integral
from typing import Any

import numpy as np

from embeddings_tf.ops.arguments import LARGEST
from embeddings_tf.ops.arguments import array
from embeddings_tf.sampling.class_table import ClassTable


def count_of(name: str, value: int) -> int:
    if isinstance(value, bool) or not (
        isinstance(value, Integral) and 0 < value <= LARGEST
    ):
        raise ValueError(
            f"{name} is {value!r}; expected an integer of at least 1 (and at "
            f"most {LARGEST})."
        )
    return int(value)


def class_ids(labels: Any) -> np.ndarray:
    labels = array("labels", labels)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]  # as in the arrays of Keras
    if labels.ndim != 1:
        raise ValueError(
            f"labels have shape {labels.shape}; expected one class id per "
            "example, shape (num_examples,). One-hot labels become ids by "
            "np.argmax(labels, axis=-1)."
        )
    if not len(labels):
        raise ValueError(
            "labels are empty; expected one class id per example. Pass the "
            "labels of the data set that the indices shall point into."
        )
    check_integers("labels", labels)
    return labels


def check_integers(name: str, values: np.ndarray) -> None:
    if not np.issubdtype(values.dtype, np.integer):
        raise ValueError(
            f"{name} have dtype {values.dtype}; expected integers. Turn other "
            "ids into integers by np.unique(ids, return_inverse=True)[1]."
        )


def check_num_classes(table: ClassTable, num_classes: int) -> None:
    if len(table.ids) < num_classes:
        raise ValueError(
            f"num_classes={num_classes}, but labels hold {len(table.ids)} "
            "distinct classes; expected at least num_classes. Use "
            f"num_classes={len(table.ids)} or less."
        )


def check_instances(
    table: ClassTable, needed: int, what: str, remedy: str, where: str = ""
) -> None:
    few = np.flatnonzero(table.counts < needed)
    if len(few):
        raise ValueError(
            f"{where}class {table.ids[few[0]]} has "
            f"{table.counts[few[0]]} instances; expected at least {needed} "
            f"({what}). {len(few)} of {len(table.ids)} classes have too few: "
            f"{remedy}."
        )
