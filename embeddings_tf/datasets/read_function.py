"""Reads data that a function of the user's own returns."""

import functools
import inspect
import os

import numpy as np
import tensorflow as tf

from embeddings_tf.datasets.images import Images
from embeddings_tf.datasets.source import select
from embeddings_tf.datasets.source_of_arrays import checked_names
from embeddings_tf.datasets.source_of_arrays import is_read_later
from embeddings_tf.datasets.source_of_arrays import source_of_arrays
from embeddings_tf.datasets.utterances import Utterances
from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.class_names import class_names
from embeddings_tf.ops.own_code import own_object


def read_function(
    name: str, split: str, label: str | None, divide: str, seed: int
) -> tuple[np.ndarray | Images | Utterances, np.ndarray]:
    """Calls a function of the user's own that returns `(x, labels)`.

    `load("FILE.py:FUNCTION", split)` and `load("MODULE:FUNCTION", split)` call
    it. `function()` returns all examples, which are divided like a folder of
    images; it may have optional arguments. `function(split)` returns one split,
    and is responsible for the numbers of its labels: it has an argument
    `split`, or one without a default. `function(split, label)` also knows other
    labels. In each process, `function()` is called once, so all splits come
    from one result, even if it shuffles; the others are called once for each
    split and label, and must shuffle by a fixed seed.

    Args:
        name: `FILE.py:FUNCTION` or `MODULE:FUNCTION`.
        split: As for `load`.
        label: As for `load`; `"class"` is the label as text, unless the
            function knows labels.
        divide: As for `load`.
        seed: As for `load`.

    Raises:
        ValueError: If there is no such function, it fails, or it returns
            something else. The cause is the error of the function.
        OSError: If the function raises it.
    """
    if returns_all(name):
        source = source_of_arrays(name, *_called(name, os.getcwd()))
        return select(source, split, label, divide, seed)
    if divide != "classes":
        raise ValueError(
            f"{name} returns one split, so divide={divide!r} cannot divide it; "
            "leave divide out, or let the function return all examples, "
            "without an argument."
        )
    if label is None or "label" not in _parameters(own_object(name)):
        x, labels = _called(name, os.getcwd(), split)
    else:
        x, labels = _called(name, os.getcwd(), split, label)
        label = None
    source = source_of_arrays(name, x, labels)
    if label is not None and label not in source.columns:
        raise ValueError(
            f"{name} has no label {label!r}: expected class or name, or a "
            "function with an argument `label`."
        )
    # Numbers of names would differ between splits.
    labels, found = np.asarray(labels), source.labels
    if labels.dtype.kind == "U":
        found = checked_names(name, "the label of example", labels)
    return source.x, found if label is None else source.columns[label]


def returns_all(name: str) -> bool:
    """Whether the function returns all examples instead of one split."""
    return not any(
        name == "split" or parameter.default is parameter.empty
        for name, parameter in _parameters(own_object(name)).items()
    )


def _parameters(function):
    """Returns the parameters by name, without `*args` and `**kwargs`."""
    try:
        found = inspect.signature(function).parameters
    except (TypeError, ValueError):  # its signature is unknown
        kind = inspect.Parameter.POSITIONAL_ONLY
        return {"split": inspect.Parameter("split", kind)}
    more = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    return {n: p for n, p in found.items() if p.kind not in more}


@functools.cache
def _called(name, folder, split=None, label=None):
    """Calls the function, once for all loads; `folder` is the current one."""
    function = own_object(name)
    arguments = () if split is None else (split,)
    more = {} if label is None else {"label": label}
    parameter = _parameters(function).get("split")
    if parameter and parameter.kind != parameter.POSITIONAL_ONLY and arguments:
        arguments, more = (), {**more, "split": split}
    try:
        x, labels = function(*arguments, **more)
        if not is_read_later(x) and not isinstance(x, tf.data.Dataset):
            x = _read_only(x)
        return x, _read_only(class_names(labels))
    except OSError:  # for example a missing file, which the error names
        raise
    except Exception as error:
        of_split = "" if split is None else f" of the split {split!r}"
        raise ValueError(
            f"{name} must return examples and labels (x, labels){of_split}; "
            f"{type(error).__name__}: {error}"
        ) from error


def _read_only(values) -> np.ndarray:
    """Returns an array that no caller can change for the next one."""
    found = array("x", values).view()
    found.flags.writeable = False
    return found
