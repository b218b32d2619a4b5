"""Embeddings with a label and a name for each row."""

import dataclasses

import numpy as np

from embeddings_tf.models.embed_batch import at_least_single
from embeddings_tf.models.embed_batch import embedded_rows
from embeddings_tf.models.embed_batch import num_inputs
from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import decoded
from embeddings_tf.ops.arguments import refuse_missing
from embeddings_tf.ops.class_names import class_names
from embeddings_tf.scoring.embed import embed


@dataclasses.dataclass(frozen=True, eq=False)
class LabelledEmbeddings:
    """Rows of embeddings, their labels, and names such as paths of files."""

    embeddings: np.ndarray
    labels: np.ndarray
    names: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows) -> "LabelledEmbeddings":
        return LabelledEmbeddings(
            self.embeddings[rows], self.labels[rows], self.names[rows]
        )

    def last_of_each_name(self) -> "LabelledEmbeddings":
        """Keeps the last row of each name, in the place of the first.

        Rows with the name "" are all kept.

        Raises:
            ValueError: If the rows of a name have two labels.
        """
        kept: dict[str | int, int] = {}
        for row, name in enumerate(self.names.tolist()):
            first = kept.setdefault(name or row, row)
            label, other = self.labels[[first, row]].tolist()
            if label != other:
                raise ValueError(
                    f"The example {name!r} has the label {label!r} and cannot "
                    f"also get {other!r}. Remove the class {label!r} first, or "
                    "leave the example out."
                )
            kept[name or row] = row
        return self.take(list(kept.values()))

    def plus(self, added: "LabelledEmbeddings") -> "LabelledEmbeddings":
        """Joins two sets, whose labels must be of one kind."""
        if self.labels.dtype.kind != added.labels.dtype.kind:
            raise ValueError(
                "`labels` must be of the kind of the enrolled labels, "
                f"{self.labels.dtype}; received {added.labels.dtype}. Convert "
                "them, for instance by labels.astype(str)."
            )
        return LabelledEmbeddings(
            np.concatenate([self.embeddings, added.embeddings]),
            np.concatenate([self.labels, added.labels]),
            np.concatenate([self.names, added.names]),
        )


def embed_inputs(model, x, batch_size: int, embedded: bool) -> np.ndarray:
    """Returns the embeddings of `x`, or `x` itself if `embedded`, checked."""
    if not embedded:
        return embed(model, x, batch_size=batch_size)
    length = num_inputs("x", x)
    rows = embedded_rows("x", model, x, slice(0, length))
    return at_least_single(rows)


def labelled_embeddings(embeddings, labels, names=None) -> LabelledEmbeddings:
    """Checks labels and names of embeddings.

    Raises:
        ValueError: If their numbers differ or are 0, or labels are neither
            strings nor integers.
    """
    labels = class_names(labels)
    if labels.dtype.kind not in "iuU":
        raise ValueError(
            "`labels` must be strings or integers; received dtype "
            f"{labels.dtype}. Convert them, for instance by astype(str)."
        )
    if labels.dtype.kind == "u":
        if labels.size and labels.max() > np.iinfo(np.int64).max:
            raise ValueError(
                f"`labels` must be integers of 64 bits; received "
                f"{labels.max()}. Convert them to strings."
            )
    if labels.dtype.kind in "iu":  # an answer for unknown has room
        labels = labels.astype(np.int64)
    if labels.shape != (len(embeddings),) or not len(embeddings):
        raise ValueError(
            "Give one label per example and at least one example; received "
            f"{len(embeddings)} examples and labels of shape {labels.shape}."
        )
    if names is None:
        names = np.full(len(embeddings), "")
    if isinstance(names, (list, tuple)):
        refuse_missing("names", names)
    names = array("names", names)
    if names.dtype.kind == "O" and names.ndim:  # for example from pandas
        refuse_missing("names", names.ravel().tolist())
        names = array("names", names.tolist())
    names = decoded("names", names)
    if names.dtype.kind != "U" or names.shape != labels.shape:
        raise ValueError(
            f"`names` must be strings of shape {labels.shape}; received dtype "
            f"{names.dtype} and shape {names.shape}."
        )
    return LabelledEmbeddings(embeddings, labels, names)
