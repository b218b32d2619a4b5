"""Reads lists of verification trials."""

import gzip
import os
import zlib
from collections.abc import Sequence

import numpy as np

from embeddings_tf.ops import arguments
from embeddings_tf.ops.require_no_pipe import require_no_pipe

_TARGET = {"1": True, "0": False}
_TARGET_LAST = {"target": True, "nontarget": False}


def read_trials(
    path: str | os.PathLike, names: Sequence[str] | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Reads a list of verification trials: two recordings, same speaker or not.

    Use it for lists of VoxCeleb, with lines `1 first second` or `0 first
    second`, and of Kaldi, with lines `first second target` or `first second
    nontarget`. Without `names` it returns the names of the recordings to
    embed; with `names` it returns indices of embeddings.
    `metrics.score_trials` takes names as `np.stack([first, second], axis=1)`.

    Args:
        path: Text file, possibly compressed (`.gz`).
        names: Names of recordings, all different. `first` and `second` are then
            indices into them.

    Returns:
        `(first, second, is_target)`, each of shape `(trials,)`, in the order
        of the list: names as `str`, or indices as `int32`, and `bool`.

    Raises:
        ValueError: If a line is not a trial, the list is empty or damaged or
            mentions a recording that is not in `names`, or `names` repeat.
        OSError: If the file cannot be read, or is a pipe or a device.

    Example:

    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/trials.txt"
    >>> with open(path, "w") as file:
    ...     _ = file.write("1 a/1.wav a/2.wav\\n0 a/1.wav b/1.wav\\n")
    >>> first, second, is_target = embeddings_tf.datasets.speech.read_trials(
    ...     path, names=["a/1.wav", "a/2.wav", "b/1.wav"]
    ... )
    >>> first, second
    (array([0, 0], dtype=int32), array([1, 2], dtype=int32))
    >>> is_target
    array([ True, False])
    >>> folder.cleanup()
    """
    path = arguments.path("path", path)
    if names is not None:
        names = arguments.sequence("names", names)
    require_no_pipe(path)
    opener = gzip.open if path.suffix == ".gz" else open
    trials = []
    try:
        with opener(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    trials.append(_trial(path, number, line))
    except (EOFError, UnicodeDecodeError, gzip.BadGzipFile, zlib.error) as e:
        raise ValueError(
            f"{path} is damaged or not a list of trials ({e}); fetch it again."
        ) from e
    if not trials:
        raise ValueError(
            f"{path} has no trials: expected lines like '1 first second' or "
            "'first second target'."
        )
    first, second, is_target = map(np.array, zip(*trials, strict=True))
    if names is None:
        return first, second, is_target
    number_of = {name: number for number, name in enumerate(names)}
    if len(number_of) != len(names):
        raise ValueError(
            f"names must be different; received {len(names)} names, of which "
            f"only {len(number_of)} are different."
        )
    unknown = sorted({*first.tolist(), *second.tolist()} - number_of.keys())
    if unknown:
        raise ValueError(
            f"{path} mentions {len(unknown)} recordings that are not among the "
            f"{len(names)} names, the first is {unknown[0]!r}; names must be "
            "equal as text, for instance 'id10270/x6uYqmx31kE/00001.wav'"
            "."
        )
    return (
        np.array([number_of[name] for name in first.tolist()], np.int32),
        np.array([number_of[name] for name in second.tolist()], np.int32),
        is_target,
    )


def _trial(path, number, line):
    words = line.split()
    # First, because a recording may be called 0 or 1, but hardly "target".
    if len(words) == 3 and words[2] in _TARGET_LAST:
        return words[0], words[1], _TARGET_LAST[words[2]]
    if len(words) == 3 and words[0] in _TARGET:
        return words[1], words[2], _TARGET[words[0]]
    raise ValueError(
        f"{path}, line {number}, is {line.strip()[:80]!r}: expected '1 first "
        "second' or '0 first second', or 'first second target' or 'first "
        "second nontarget'."
    )
