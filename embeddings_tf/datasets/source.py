"""Data of one's own: all examples, before they are divided into splits."""

from typing import NamedTuple

import numpy as np

from embeddings_tf.datasets.class_folders import SPLITS
from embeddings_tf.datasets.divide_classes import divide_classes
from embeddings_tf.datasets.divide_examples import divide_examples
from embeddings_tf.datasets.images import Images
from embeddings_tf.datasets.named_classes import number_names
from embeddings_tf.datasets.utterances import Utterances
from embeddings_tf.ops.arguments import integer_at_least

DIVISIONS = ("classes", "examples")
# Other usual names of this split.
_VALIDATION = ("val", "valid", "dev")


class Source(NamedTuple):
    """All examples of a folder, a file or a function, with their labels.

    `columns` contains other labels, `str (examples,)`, by name: `"class"`, the
    names of the classes, `"name"`, the names of the examples, and more.
    """

    place: str  # for messages: the folder or the file
    x: np.ndarray | Images | Utterances
    labels: np.ndarray  # int32, (examples,) or (examples, factors)
    columns: dict[str, np.ndarray]
    splits: np.ndarray | None = None


def select(
    source: Source, split: str, label: str | None, divide: str, seed: int
) -> tuple[np.ndarray | Images | Utterances, np.ndarray]:
    """Returns the examples of a split, and their labels.

    Args:
        source: All examples.
        split: A split of the source. Without splits of its own `"train"`,
            `"validation"` or `"test"`. `"all"` is every example.
        label: A column of the source, or `"split"` for splits of its own; None
            for its labels.
        divide: `"classes"`: a class is in one split. `"examples"`: every
            class is in all splits.
        seed: Random seed of the division.

    Raises:
        ValueError: If there is no such split, column or division, a split of
            the source is called `"all"`, or there are too few classes or
            examples to divide.
    """
    if divide not in DIVISIONS:
        raise ValueError(
            f"divide must be one of {', '.join(DIVISIONS)}; received "
            f"{divide!r}."
        )
    integer_at_least("seed", seed, 0)
    own = source.splits
    columns = source.columns if own is None else source.columns | {"split": own}
    if label is not None and label not in columns:
        raise ValueError(
            f"{source.place} has no label {label!r}: expected one of "
            f"{', '.join(columns)}, or None for integers."
        )
    if own is not None and divide != "classes":
        raise ValueError(
            f"{source.place} has splits of its own, so divide={divide!r} "
            "cannot divide it; leave divide out, or remove the splits."
        )
    if own is not None and "all" in own:
        raise ValueError(
            f"{source.place} has a split called 'all', which is the name for "
            "every example; rename the split."
        )
    known = [*(SPLITS if own is None else dict.fromkeys(own.tolist())), "all"]
    if split not in known:
        remedy = ""
        usual = [split, *(_VALIDATION if split == "validation" else ())]
        other = next((s for s in known if s.casefold() in usual), None)
        if split in SPLITS and other is not None:
            remedy = f" Call the split {other!r} {split}."
        elif split in SPLITS[1:] and "train" in known:
            remedy = (
                f" Move a fifth of the classes of train to {split}, or remove "
                "the splits, so that the data is divided."
            )
        raise ValueError(
            f"Unknown split {split!r} of {source.place}: expected one of "
            f"{', '.join(known)}.{remedy}"
        )
    labels = source.labels
    if label is not None:
        labels = np.asarray(columns[label], np.str_)
    if split == "all":
        return source.x, labels
    if own is not None:
        rows = np.flatnonzero(own == split)
    else:
        rows = _divided(source, split, divide, seed)
    x = source.x
    x = x[rows] if isinstance(x, np.ndarray) else x.take(rows)
    return x, labels[rows]


def _divided(source, split, divide, seed):
    """Returns the rows of a split of the division."""
    names = source.columns["class"]
    # Integers are compared faster than text.
    one = source.labels.ndim == 1
    numbers = source.labels if one else number_names(names)
    found, first, codes = np.unique(
        numbers, return_index=True, return_inverse=True
    )
    classes = names[first]
    try:
        if divide == "examples":
            examples = source.columns["name"]
            return divide_examples(codes, examples, seed, classes)[split]
        wanted = divide_classes(classes.tolist(), seed)[split]
        return np.flatnonzero(np.isin(classes, wanted)[codes])
    except ValueError as error:
        other = DIVISIONS[DIVISIONS.index(divide) - 1]
        raise ValueError(
            f"{source.place} has no splits of its own, and {error} Add splits, "
            f"divide {other} instead (in commands with a goal: --split "
            f"{other}), or read the split all."
        ) from error
