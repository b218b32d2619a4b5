"""Reads data that a function of the user's own returns."""

import inspect

import numpy as np

from embeddings_tf.datasets.images import Images
from embeddings_tf.datasets.source import select
from embeddings_tf.datasets.source_of_arrays import source_of_arrays
from embeddings_tf.datasets.utterances import Utterances
from embeddings_tf.ops.own_code import own_object


def read_function(
    name: str, split: str, label: str | None, divide: str, seed: int
) -> tuple[np.ndarray | Images | Utterances, np.ndarray]:
    """Calls a function of the user's own that returns `(x, labels)`.

    `load("FILE.py:FUNCTION", split)` and `load("MODULE:FUNCTION", split)` call
    it. `function()` returns all examples, which are divided like a folder of
    images. `function(split)` returns one split, and is responsible for the
    numbers of its labels. `function(split, label)` also knows other labels.

    Args:
        name: `FILE.py:FUNCTION` or `MODULE:FUNCTION`.
        split: As for `load`.
        label: As for `load`; `"class"` is the label as text, unless the
            function knows labels.
        divide: As for `load`.
        seed: As for `load`.

    Raises:
        ValueError: If there is no such function, it fails, or it returns
            something else.
    """
    function = own_object(name)
    parameters = _parameters(function)
    if not parameters:
        source = source_of_arrays(name, *_called(name, function))
        return select(source, split, label, divide, seed)
    if divide != "classes":
        raise ValueError(
            f"{name} returns one split, so divide={divide!r} cannot divide it; "
            "leave divide out, or let the function return all examples, "
            "without an argument."
        )
    if label is None or "label" not in parameters:
        x, labels = _called(name, function, split)
    else:
        x, labels = _called(name, function, split, label=label)
        label = None
    source = source_of_arrays(name, x, labels)
    if label is not None and label not in source.columns:
        raise ValueError(
            f"{name} has no label {label!r}: expected class or name, or a "
            "function with an argument `label`."
        )
    # Numbers of names would differ between splits.
    labels = np.asarray(labels)
    found = labels if labels.dtype.kind == "U" else source.labels
    return source.x, found if label is None else source.columns[label]


def returns_all(name: str) -> bool:
    """Whether the function returns all examples instead of one split."""
    return not _parameters(own_object(name))


def _parameters(function):
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {"split": None}  # its signature is unknown


def _called(name, function, *arguments, **label):
    try:
        x, labels = function(*arguments, **label)
        if not _is_read_later(x):
            x = np.asarray(x)
        return x, np.asarray(labels)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        of_split = f" of the split {arguments[0]!r}" if arguments else ""
        raise ValueError(
            f"{name} must return examples and labels (x, labels){of_split}; "
            f"{type(error).__name__}: {error}"
        ) from error


def _is_read_later(x) -> bool:
    return hasattr(x, "take") and not hasattr(x, "__array__")
