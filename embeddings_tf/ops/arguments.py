"""Checks of arguments, with uniform error messages."""

import math
import numbers
import operator
import os
import pathlib
from collections.abc import Iterable
from collections.abc import Mapping

import keras
import numpy as np
import tensorflow as tf

# No dimension, number of rows or number of samples may be larger.
LARGEST = 2**31 - 1
# Squares of this number, and sums of a few of them, fit in float32.
LARGEST_NUMBER = 1e18
# The inverse of this number fits in float32, which rounds below 1e-38 to 0.
SMALLEST_NUMBER = 1e-37


def positive_integer(name: str, value) -> int:
    """Returns an int; ValueError unless it is whole, 1 to `LARGEST`."""
    number = integer_at_least(name, value, 1)
    if number > LARGEST:
        raise ValueError(
            f"`{name}` must be at most {LARGEST}; received {_shown(value)}."
        )
    return number


def integer_at_least(name: str, value, minimum: int) -> int:
    """Returns an int; ValueError unless it is whole and >= minimum."""
    try:
        number = operator.index(value)
    except TypeError:
        number = minimum - 1
    if number < minimum or isinstance(value, bool):
        raise ValueError(
            f"`{name}` must be an integer of at least {minimum}; received "
            f"{_shown(value)}."
        )
    return number


def number_at_least(
    name: str, value, minimum: float, maximum: float | None = None
) -> float:
    """Returns a float; ValueError unless it is finite and in the range."""
    if not _is_number(value) or not math.isfinite(value) or value < minimum:
        raise ValueError(
            f"`{name}` must be a finite number of at least {minimum}; "
            f"received {_shown(value)}."
        )
    return _at_most(name, value, maximum)


def positive_number(name: str, value, maximum: float | None = None) -> float:
    """Returns a float; ValueError unless it is positive and in the range.

    The smallest number is `SMALLEST_NUMBER`.
    """
    if not _is_number(value) or not 0 < value < math.inf:
        raise ValueError(
            f"`{name}` must be positive and finite; received {_shown(value)}."
        )
    if value < SMALLEST_NUMBER:
        raise ValueError(
            f"`{name}` must be at least {SMALLEST_NUMBER:g}, because float32 "
            f"rounds smaller numbers to 0; received {_shown(value)}."
        )
    return _at_most(name, value, maximum)


def share(name: str, value) -> float:
    """Returns a float; ValueError unless it is in [0, 1)."""
    if number_at_least(name, value, 0) >= 1:
        raise ValueError(
            f"`{name}` must be at least 0 and below 1; received "
            f"{_shown(value)}."
        )
    return float(value)


def number_between(name: str, value, low: float, high: float) -> float:
    """Returns a float; ValueError unless it is inside (low, high)."""
    if not _is_number(value) or not low < value < high:
        raise ValueError(
            f"`{name}` must be between {low} and {high}; received "
            f"{_shown(value)}."
        )
    return float(value)


def finite_number(name: str, value) -> float:
    """Returns a float; ValueError unless it is a finite number."""
    if not _is_number(value) or not math.isfinite(value):
        raise ValueError(
            f"`{name}` must be a finite number; received {_shown(value)}."
        )
    return float(value)


def one_of(name: str, value, choices: tuple):
    """Returns `value`; ValueError unless it is one of `choices`."""
    if not isinstance(value, str | None) or value not in choices:
        raise ValueError(
            f"`{name}` must be one of {', '.join(map(repr, choices))}; "
            f"received {_shown(value)}."
        )
    return value


def truth(name: str, value) -> bool:
    """Returns a bool; ValueError unless it is True, False, 1 or 0."""
    is_number = isinstance(value, (numbers.Real, np.bool_))
    if not is_number or value not in (0, 1):
        raise ValueError(f"`{name}` must be True or False; received {value!r}.")
    return bool(value)


def path(name: str, value) -> pathlib.Path:
    """Returns a path; ValueError unless it is a path or non-empty text."""
    is_path = isinstance(value, (str, os.PathLike)) and os.fspath(value)
    if not is_path or "\0" in os.fsdecode(value):
        raise ValueError(
            f"`{name}` must be the path of a file or folder; received "
            f"{_shown(value)}."
        )
    return pathlib.Path(value)


def text(name: str, value) -> str:
    """Returns `value`; ValueError unless it is a string."""
    if not isinstance(value, str):
        raise ValueError(f"`{name}` must be a string; received {value!r}.")
    return value


def function(name: str, value, arguments: str):
    """Returns `value`; ValueError unless it can be called."""
    if not callable(value):
        raise ValueError(
            f"`{name}` must be a function of {arguments}; received {value!r}."
        )
    return value


def array(name: str, value) -> np.ndarray:
    """Returns an array; ValueError if there is none, as for ragged lists.

    NumPy would take the numbers below a mask for data.
    """
    return _array(f"`{name}`", value)


def result(name: str, value) -> np.ndarray:
    """Returns the array that a user's function returned, as `array` does."""
    return _array(f"The result of `{name}`", value)


def refuse_not_dense(expected: str, value) -> None:
    """Raises ValueError for a sparse or ragged value.

    NumPy would make one object of it.
    """
    if isinstance(value, tf.RaggedTensor):
        cure = "x.to_tensor()"
    elif isinstance(value, tf.SparseTensor):
        cure = "tf.sparse.to_dense(x)"
    elif hasattr(value, "toarray"):  # of SciPy
        cure = "x.toarray()"
    else:
        return
    raise ValueError(
        f"{expected}; received a {type(value).__name__}. Convert it: {cure}."
    )


def _array(what: str, value) -> np.ndarray:
    refuse_not_dense(f"{what} must be an array", value)
    if np.ma.is_masked(value):
        raise ValueError(
            f"{what} must have no masked entries; received "
            f"{np.ma.count_masked(value)}. Drop these rows first."
        )
    try:
        return np.asarray(value)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise ValueError(
            f"{what} must be an array, or lists of one length; received "
            f"{type(value).__name__}, which is not one: {error}"
        ) from error


def decoded(name: str, values: np.ndarray) -> np.ndarray:
    """Returns texts as strings; texts of tensors are bytes.

    Raises:
        ValueError: If bytes are not UTF-8.
    """
    if values.dtype.kind != "S":
        return values
    try:
        return np.char.decode(values, "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"`{name}` must be text; received {error.object!r}, which is not "
            "UTF-8. Decode it first."
        ) from error


def refuse_missing(name: str, values: Iterable) -> None:
    """Raises ValueError for None or NaN in a list.

    NumPy would turn them into the strings "None" and "nan" beside strings.
    """
    for place, value in enumerate(values):
        if _is_missing(value):
            raise ValueError(
                f"`{name}` must be without missing values; received {value!r} "
                f"in place {place}. Leave these examples out."
            )


def _is_missing(value) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # pandas.NA; or an array
        return not isinstance(value, np.ndarray)


def num_rows(name: str, value) -> int:
    """Returns the number of rows; ValueError if a value has none, like text."""
    if not isinstance(value, (str, bytes, Mapping)):
        try:
            return len(value)
        except TypeError:  # also for an array without axes
            pass
    # The arrays of a dictionary would fill the screen.
    is_mapping = isinstance(value, Mapping)
    found = f"a {type(value).__name__}" if is_mapping else repr(value)
    raise ValueError(
        f"`{name}` must have one row per input, like an array; received "
        f"{found}."
    )


def num_sliced_rows(name: str, value) -> int:
    """Returns the length; ValueError unless slices of `value` are batches."""
    is_container = isinstance(value, (Mapping, list, tuple))
    length = len(value) if is_container else num_rows(name, value)
    if is_container or not hasattr(type(value), "__getitem__"):
        raise ValueError(
            f"`{name}` must have batches as its slices `{name}[first:last]`, "
            f"like an array; received {type(value).__name__}. Convert an "
            "unbatched dataset by np.stack([*dataset.as_numpy_iterator()]), "
            "and a list of rows by np.array(rows). If the model has several "
            "inputs, pass an object whose slices are batches of all of them."
        )
    return length


def keras_layer(name: str, value) -> keras.Layer:
    """Returns `value`; ValueError unless it is a Keras model or layer."""
    if not isinstance(value, keras.Layer):
        raise ValueError(
            f"`{name}` must be a Keras model or layer; received {value!r}. "
            "If it is a class, create an object first."
        )
    return value


def require_floating(dtype: str) -> None:
    """Raises ValueError unless a loss or layer computes in this dtype."""
    if not keras.backend.is_float_dtype(dtype):
        raise ValueError(
            "`dtype` must be a floating-point type such as 'float32'; "
            f"received {dtype!r}."
        )


def sequence(name: str, value, length: int | None = None) -> list:
    """Returns a list; ValueError unless it is a sequence of this length."""
    try:
        found = None if isinstance(value, (str, bytes, dict)) else list(value)
    except TypeError:
        found = None
    if found is None or length not in (None, len(found)):
        several = "several values" if length is None else f"{length} values"
        raise ValueError(
            f"`{name}` must be a sequence of {several}; received {value!r}."
        )
    return found


def mapping(name: str, value) -> Mapping:
    """Returns `value`; ValueError unless it is a mapping."""
    if not isinstance(value, Mapping):
        raise ValueError(
            f"`{name}` must be a mapping, like a dictionary; received "
            f"{value!r}."
        )
    return value


def checked_shape(
    value,
    *,
    smallest: int = 1,
    channels: tuple[int, ...] = (),
) -> tuple[int | None, int | None, int]:
    """Returns `(height, width, channels)`; None allows any size.

    Sides must be at least `smallest`. `channels` are the allowed numbers of
    channels; empty for any.
    """
    sizes = sequence("image_shape", value, 3)
    for size in sizes[:2]:
        if size is not None:
            positive_integer("image_shape", size)
    positive_integer("image_shape", sizes[2])
    if channels and sizes[2] not in channels:
        raise ValueError(
            f"`image_shape` must have {' or '.join(map(str, channels))} "
            f"channels for this network; received {tuple(sizes)}."
        )
    if any(size is not None and size < smallest for size in sizes[:2]):
        raise ValueError(
            f"`image_shape` must have sides of at least {smallest} for this "
            f"network; received {tuple(sizes)}. Resize the images "
            "(config.images.size in a recipe), or take image_encoder."
        )
    return tuple(sizes)


def fixed_image_shape(value, *, smallest: int = 1) -> tuple[int, int, int]:
    """Like `checked_shape`, but both sides must be stated."""
    height, width, channels = checked_shape(value, smallest=smallest)
    if height is None or width is None:
        raise ValueError(
            "`image_shape` must state height and width, because a layer of "
            f"this network is dense; received {(height, width, channels)}."
        )
    return height, width, channels


def random_seed(name: str, value, num_bits: int = 63) -> int:
    """Returns an int; ValueError unless it is whole and has `num_bits`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if not 0 <= number < 2**num_bits or isinstance(value, bool):
        raise ValueError(
            f"`{name}` must be an integer from 0 to 2**{num_bits} - 1; "
            f"received {_shown(value)}."
        )
    return number


def step_number(name: str, value) -> int:
    """Returns an int; ValueError unless it is whole, 0 to 2^62 - 1."""
    return random_seed(name, value, num_bits=62)


def optional_seed(name: str, value) -> int | None:
    """`random_seed`, or None."""
    return None if value is None else random_seed(name, value)


def _at_most(name: str, value, maximum: float | None) -> float:
    if maximum is not None and value > maximum:
        raise ValueError(
            f"`{name}` must be at most {maximum:g}; received {_shown(value)}."
        )
    return float(value)


def _is_number(value) -> bool:
    """Whether `value` fits in a float and is not a boolean."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:  # an integer of more than 308 digits
        return False
    return True


def _shown(value) -> str:
    """The value as Python writes it, without the type of NumPy."""
    return repr(value.item() if isinstance(value, np.generic) else value)
