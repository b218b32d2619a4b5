"""Checks of the arrays that metrics receive, with uniform messages."""

from collections.abc import Sized
from typing import Any

import numpy as np

from embeddings_tf.ops import arguments
from embeddings_tf.ops.arguments import random_seed
from embeddings_tf.ops.arguments import refuse_missing
from embeddings_tf.ops.counted import counted

# float64 represents every integer up to this one exactly.
_LARGEST_INTEGER = 2**53
MOST_BINS = 100_000


def numbers(
    name: str,
    value: Any,
    ndim: int,
    shape: str,
    infinite: bool = False,
    ordered: bool = False,
) -> np.ndarray:
    """Returns `value` as float32 or float64 of rank `ndim`, finite, not empty.

    `infinite` allows -inf and inf; NaN is still refused. `ordered` is for
    callers that only compare values: integers stay integers.
    """
    array = _shaped(name, value, ndim, shape)
    if array.dtype.kind == "c":
        raise ValueError(
            f"`{name}` must be real numbers; received dtype {array.dtype}. "
            "Pass the real and the imaginary parts as separate columns."
        )
    if not _is_real(array.dtype):
        raise ValueError(
            f"`{name}` must be numbers; received dtype {array.dtype}. "
            "Convert it to floating point first."
        )
    if ordered and array.dtype.kind in "iu":
        return array
    outside = beyond_float64(array)
    if outside.any():
        raise ValueError(
            f"`{name}` must be numbers that float64 represents; received "
            f"the integer {array[outside][0]}, beyond 2**53. Subtract a "
            "constant or divide first."
        )
    if array.dtype not in (np.float32, np.float64):
        narrow = array.dtype.kind not in "biu"
        narrow = narrow and np.can_cast(array.dtype, np.float32)
        with np.errstate(over="ignore"):  # refused below
            array = array.astype(np.float32 if narrow else np.float64)
    refused = np.isnan(array) if infinite else ~np.isfinite(array)
    if refused.any():
        where = tuple(map(int, np.argwhere(refused)[0]))
        expected = "not be NaN" if infinite else "be finite"
        raise ValueError(
            f"`{name}` must {expected}; received {array[where]} at {where}. "
            "Find the cause, or drop these rows."
        )
    return array


def result(name: str, value: Any) -> np.ndarray:
    """Returns the numbers that a user's function returned.

    Raises:
        ValueError: Unless they are an array of real numbers.
    """
    found = arguments.result(name, value)
    if not _is_real(found.dtype):
        raise ValueError(
            f"The result of `{name}` must be real numbers; received dtype "
            f"{found.dtype}."
        )
    if found.dtype.kind not in "biuf":  # bfloat16
        found = found.astype(np.float32)
    if found.dtype == np.longdouble:
        with np.errstate(over="ignore"):
            found = found.astype(np.float64)
    return found


def compared_dtype(value: Any, array: np.ndarray) -> np.dtype:
    """Returns the type in which a threshold for `value` must be exact.

    NumPy and TensorFlow compare half precision with a number in half
    precision, so a threshold just above a score must be above it there.
    `array` is `value` as `numbers` returns it.
    """
    given = np.asarray(value).dtype
    return given if given.name in ("float16", "bfloat16") else array.dtype


def just_above(score: np.floating, dtype: np.dtype) -> float:
    """Returns the smallest number above a score that `dtype` represents.

    TensorFlow reads subnormal numbers as 0, so no threshold is subnormal. The
    smallest number above 0 and above subnormal scores is the smallest normal
    number, and the smallest number above that number with a minus is 0.
    """
    score = score.astype(dtype)
    with np.errstate(over="ignore"):  # the largest number: infinity
        # Infinity has the same type, because bfloat16 takes no other.
        above = float(np.nextafter(score, np.asarray(np.inf, dtype)))
    # Half precision is compared in float32; bfloat16 has its exponents.
    compared = np.float64 if score.dtype == np.float64 else np.float32
    tiny = float(np.finfo(compared).tiny)
    if abs(above) >= tiny:
        return above
    return 0.0 if float(score) <= -tiny else tiny


def beyond_float64(array: np.ndarray) -> np.ndarray:
    """Marks integers that float64 may round."""
    if array.dtype.kind not in "iu":
        return np.zeros(array.shape, bool)
    return (array > _LARGEST_INTEGER) | (array < -_LARGEST_INTEGER)


def number_of_bins(name: str, value: Any) -> int:
    """Returns a number of bins that fits into memory."""
    count = arguments.positive_integer(name, value)
    if count > MOST_BINS:
        raise ValueError(
            f"`{name}` must be at most {MOST_BINS:,}; received {count}. More "
            "bins than examples are of no use."
        )
    return count


def booleans(name: str, value: Any, ndim: int, shape: str) -> np.ndarray:
    """Returns booleans of rank `ndim`, not empty, from booleans or 0 and 1."""
    array = _shaped(name, _of_objects(name, value), ndim, shape)
    if array.dtype == bool:
        return array
    refused = np.ones(array.shape, bool)
    if _is_real(array.dtype):
        refused = ~np.isin(array, (0, 1))
    if refused.any():
        raise ValueError(
            f"`{name}` must contain booleans, or 0 and 1; received "
            f"{array[refused][0]}. Pass the outcome of a comparison such as "
            "`==` or `!=`."
        )
    return array.astype(bool)


def integers(name: str, value: Any, ndim: int, shape: str) -> np.ndarray:
    """Returns `value` as integers of rank `ndim`, not empty."""
    array = _shaped(name, value, ndim, shape)
    if array.dtype.kind not in "iu":
        raise ValueError(
            f"`{name}` must be integers; received dtype {array.dtype}. "
            "np.unique(ids, return_inverse=True)[1] turns other ids into "
            "integers."
        )
    if array.dtype == np.uint64 and array.max() <= np.iinfo(np.int64).max:
        # NumPy compares uint64 with int64 as floats, which merge large ids.
        return array.astype(np.int64)
    return array


def comparable_ids(
    first: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns integers of two arrays in one type, for comparisons.

    NumPy compares `uint64` with signed integers as floats, which merge large
    ids. If no type has all ids of both, they are numbered.
    """
    kinds = {first.dtype.kind, second.dtype.kind}
    if np.uint64 not in (first.dtype, second.dtype) or len(kinds) == 1:
        return first, second
    both = np.concatenate([first.astype(object), second.astype(object)])
    numbers = np.unique(both, return_inverse=True)[1]
    return numbers[: len(first)], numbers[len(first) :]


def numbered_classes(name: str, value: Any) -> tuple[np.ndarray, np.ndarray]:
    """Numbers the classes `(n,)` from 0; returns them and their sizes.

    Raises:
        ValueError: Unless classes are integers or strings.
    """
    if isinstance(value, (list, tuple)):
        refuse_missing(name, value)
    array = _shaped(name, _of_objects(name, value), 1, "(n,)")
    if array.dtype.kind not in "iuU":
        raise ValueError(
            f"`{name}` must be integers or strings; received dtype "
            f"{array.dtype}. Convert them, for instance by astype(str)."
        )
    _, numbers, sizes = np.unique(
        array, return_inverse=True, return_counts=True
    )
    return numbers, sizes


def same_length(**arrays: Sized) -> None:
    """Raises ValueError unless all arrays have the same number of rows."""
    if len({len(array) for array in arrays.values()}) > 1:
        lengths = ", ".join(
            f"{counted(len(array), 'row')} of `{name}`"
            for name, array in arrays.items()
        )
        raise ValueError(
            f"Row i of every array must be about example i; received {lengths}."
            " Pass arrays of the same length."
        )


def scaled(
    array: np.ndarray, axis: int | None = None, power: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Returns `array * 2.0**-exponent` as float64, and the exponent.

    The scaling is exact. The result is in (-2**power, 2**power). Up to 400,
    sums and squares of the result do not overflow. They underflow only for
    values that are tiny compared with the largest value. With `axis=0` each
    column has its own exponent.
    """
    array = array.astype(np.float64)
    exponent = np.frexp(np.max(np.abs(array), axis=axis))[1] - power
    return np.ldexp(array, -exponent), exponent


def rounded_up(value: float) -> float:
    """Returns a positive number, rounded up to three digits, for messages."""
    digits = 10.0 ** (2 - np.floor(np.log10(value)))
    return float(np.ceil(value * digits * (1 - 1e-12)) / digits)


def telling_digits(scores: Any, threshold: float) -> int:
    """Returns how many digits tell scores from a threshold when printed.

    Six significant digits, or more if a score that is not the threshold would
    be printed as the threshold.
    """
    values = np.asarray(scores, np.float64).ravel()
    digits = 6
    while digits < 17 and any(  # 17 digits tell all numbers of float64
        f"{score:.{digits}g}" == f"{threshold:.{digits}g}"
        for score in values[values != threshold]
    ):
        digits += 1
    return digits


def generator(seed: Any) -> np.random.Generator:
    """Returns NumPy's generator for a seed; ValueError if it is invalid."""
    return np.random.default_rng(random_seed("seed", seed))


def _shaped(name: str, value: Any, ndim: int, shape: str) -> np.ndarray:
    array = arguments.array(name, value)
    if array.ndim != ndim or not array.size:
        received, cure = f"shape {array.shape}", "Reshape or select it."
        if array.dtype == object and not array.ndim:  # such as a dictionary
            received, cure = type(value).__name__, "Pass an array."
        raise ValueError(
            f"`{name}` must have shape {shape} and not be empty; received "
            f"{received}. {cure}"
        )
    return array


def _of_objects(name: str, value: Any) -> np.ndarray:
    """Returns an array of Python objects, as of pandas, by what they are.

    Tuples and lists become an axis. Texts of tensors, which are bytes, become
    strings.
    """
    array = arguments.array(name, value)
    if array.dtype.kind == "O" and array.ndim:
        refuse_missing(name, array.ravel().tolist())
        array = arguments.array(name, array.tolist())
    return arguments.decoded(name, array)


def _is_real(dtype: np.dtype) -> bool:
    # Bfloat16 and similar types have their own kind, but can be cast.
    return dtype.kind in "biuf" or (
        dtype.names is None and np.can_cast(dtype, np.float64)
    )
