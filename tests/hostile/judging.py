"""Makes a call with invalid arguments and judges the outcome."""

import contextlib
import dataclasses
import linecache
import math
import pathlib
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

import embeddings_tf
from tests import seeds
from tests.hostile.values import Expected
from tests.hostile.values import Hostile

SECONDS = 60  # per call, on a busy machine
OURS = pathlib.Path(embeddings_tf.__file__).parent
KERAS = pathlib.Path(keras.__file__).parent

calls = Counter()


@dataclasses.dataclass(frozen=True)
class Entry:
    """A public function or class, and invalid values of its arguments.

    Attributes:
        call: Function that makes one call from named arguments; for a class,
            it makes an object and uses it.
        valid: Arguments of a call that works.
        hostile: Invalid values by argument name, one at a time.
        together: Invalid values of several arguments at once, with the
            expected outcome: pairs of a description and `{name: Hostile}`.
        raises: Errors besides ValueError that the docstring promises.
        tolerance: Relative difference between equal results.
        infinite: Whether the docstring allows infinity in a result.
        known: Mapping from a part of a description to a limit that the
            docstring states; such calls are made but not judged.
    """

    call: Callable
    valid: Mapping[str, Any]
    hostile: Mapping[str, list[Hostile]]
    together: tuple = ()
    raises: tuple = ()
    tolerance: float = 1e-5
    infinite: bool = False
    known: Mapping[str, str] = dataclasses.field(default_factory=dict)
    _results: dict = dataclasses.field(default_factory=dict)

    def result(self, changes: Mapping[str, Any]):
        """Returns the result of a call; caches it for repeated arguments."""
        arguments = {**self.valid, **changes}
        key = tuple(map(id, arguments.values()))
        if key not in self._results:
            # The arguments are also kept, because ids of freed objects repeat.
            self._results[key] = arguments, _result(self, arguments)
        return self._results[key][1]

    def single(self):
        """Yields changes of one argument, then joint changes."""
        for name, values in self.hostile.items():
            for value in values:
                yield f"{name}: {value.name}", {name: value}
        yield from self.together


class Hang(BaseException):
    """Not an Exception, so that no handler catches it."""


@contextlib.contextmanager
def time_limit(seconds=SECONDS):
    def stop(*_):
        raise Hang(f"no answer within {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def problem_of(name: str, entry: Entry, changes: Mapping[str, Hostile]):
    """What is wrong with the outcome of a call, or None."""
    calls[name] += 1
    given = {**entry.valid, **{k: h.value for k, h in changes.items()}}
    before = {k: _copy(v) for k, v in given.items()}
    expected = {hostile.expected for hostile in changes.values()}
    try:
        found = _result(entry, given)
    except Hang as error:
        return str(error)
    except Exception as error:  # noqa: BLE001  every error is judged
        wrong = _wrong_error(entry, error)
        if wrong is None and expected == {Expected.SAME}:
            return f"refuses a value it must take: {_text(error)}"
        return wrong
    for key, value in given.items():
        if isinstance(value, np.ndarray) and not _same(value, before[key], 0):
            return f"changes its argument {key!r}"
    if Expected.REFUSED in expected:
        return f"accepts it, and gives {_short(found)}"
    numbers = _numbers(found)
    if Expected.POISON in expected:
        if (
            expected <= {Expected.POISON, Expected.SAME}
            and np.isfinite(numbers).all()
        ):
            return f"gives a finite number from NaN: {_short(found)}"
        return None
    infinite = entry.infinite or Expected.LARGE in expected
    if not (infinite or np.isfinite(numbers).all()):
        return f"gives {_short(found)}"
    if np.isnan(numbers).any():
        return f"gives NaN: {_short(found)}"
    if expected & {Expected.ANY, Expected.LARGE}:
        return None
    sane = {k: h.reference for k, h in changes.items()}
    try:
        wanted = entry.result(sane)
    except Exception as error:  # noqa: BLE001
        # The reference must not be accepted in its place.
        wrong = _wrong_error(entry, error)
        return wrong or (
            f"gives {_short(found)}, and refuses the same numbers in another "
            f"form: {_text(error)}"
        )
    if not _same(found, wanted, entry.tolerance):
        return f"gives {_short(found)} for {_short(wanted)}"
    return None


def _result(entry, arguments):
    seeds.reset()
    with (
        time_limit(),
        whole_tracebacks(),
        warnings.catch_warnings(record=True),
    ):
        # Warnings of NumPy or TensorFlow do not matter, only the result.
        warnings.simplefilter("always")
        return entry.call(**arguments)


@contextlib.contextmanager
def whole_tracebacks():
    """Keeps the frames of Keras, which show where an error was raised."""
    keras.config.disable_traceback_filtering()
    try:
        yield
    finally:
        keras.config.enable_traceback_filtering()


def _wrong_error(entry, error):
    """Why an exception breaks the library's promise, or None."""
    allowed = (ValueError, *entry.raises)
    if not isinstance(error, allowed):
        return f"raises {_text(error)}"
    if isinstance(error, tf.errors.OpError):
        return None  # from a graph, which only has frames of TensorFlow
    if isinstance(error, OSError) and error.filename:
        return None  # names the file and the error of the system
    frames = traceback.extract_tb(error.__traceback__)[1:]
    files = [pathlib.Path(frame.filename) for frame in frames]
    if not any(file.is_relative_to(OURS) for file in files):
        return None  # refused by Keras before our code ran
    line = linecache.getline(frames[-1].filename, frames[-1].lineno).strip()
    deliberate = line.startswith("raise") and any(
        files[-1].is_relative_to(package) for package in (OURS, KERAS)
    )
    if not deliberate:
        return (
            f"does not check its arguments: {_text(error)} ({files[-1].name}, "
            f"line {frames[-1].lineno})"
        )
    if len(str(error).split()) < 5:
        return f"does not say what is wrong: {_text(error)}"
    return None


def _text(error):
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {' '.join(lines)[:200]}"


def _short(value):
    return " ".join(repr(value).split())[:160]


def _copy(value):
    return value.copy() if isinstance(value, np.ndarray) else value


def _parts(value):
    """Arrays of numbers in a result, in order."""
    if value is None or isinstance(value, str | bytes):
        return
    if isinstance(value, Mapping):
        for key in value:
            yield from _parts(key)
            yield from _parts(value[key])
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _parts(part)
    elif tf.is_tensor(value) or isinstance(value, keras.Variable):
        yield from _parts(value.numpy())
    else:
        array = np.asarray(value)
        if array.dtype == object:
            yield array.astype(np.float64)
        elif array.dtype.kind in "biufc" or array.dtype.name == "bfloat16":
            yield array
        elif array.dtype.kind not in "SU":
            raise TypeError(f"no numbers: {value!r}")


def _numbers(value):
    parts = [part.astype(np.complex128).ravel() for part in _parts(value)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _same(found, wanted, tolerance):
    found, wanted = list(_parts(found)), list(_parts(wanted))
    if [part.shape for part in found] != [part.shape for part in wanted]:
        return False
    for one, other in zip(found, wanted, strict=True):
        if one.dtype.kind in "iub" and other.dtype.kind in "iub":
            if not np.array_equal(one, other):
                return False
            continue
        one, other = one.astype(np.complex128), other.astype(np.complex128)
        finite = np.abs(other[np.isfinite(other)])
        scale = max(finite.max(initial=0), math.ulp(0))
        if not np.allclose(
            one, other, rtol=tolerance, atol=tolerance * scale, equal_nan=True
        ):
            return False
    return True
