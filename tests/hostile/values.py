"""Invalid values for each kind of argument, and the expected outcome."""

import dataclasses
import enum
import math
from typing import Any

import numpy as np
import tensorflow as tf


class Expected(enum.Enum):
    SAME = "the result of the reference"
    EITHER = "an error, or the result of the reference"
    REFUSED = "an error"
    ANY = "an error, or a finite result"
    LARGE = "an error, or a result that may be infinite"
    POISON = "an error, or a result that is not finite"


@dataclasses.dataclass(frozen=True, eq=False)
class Hostile:
    """A value and the expected outcome of a call with it.

    `reference` is an equivalent plain value, for SAME and EITHER.
    """

    name: str
    value: Any
    expected: Expected
    reference: Any = None


def same(name, value, reference):
    return Hostile(name, value, Expected.SAME, reference)


def either(name, value, reference):
    return Hostile(name, value, Expected.EITHER, reference)


def refused(name, value):
    return Hostile(name, value, Expected.REFUSED)


def anything(name, value):
    return Hostile(name, value, Expected.ANY)


def poison(name, value):
    return Hostile(name, value, Expected.POISON)


def chosen(values, *without):
    """Returns `values` except the names in `without`, which must exist."""
    names = {value.name for value in values}
    unknown = set(without) - names
    if unknown:
        raise KeyError(f"{unknown} not in {names}")
    return [value for value in values if value.name not in without]


NOT_NUMBERS = [
    ("text", "hostile"),
    ("a dictionary", {"a": 1.0}),
    ("a ragged list", [[1.0, 2.0], [3.0]]),
    ("an object", object()),
]


def not_arrays(optional=False):
    """Values that are not arrays of numbers."""
    values = [refused(name, value) for name, value in NOT_NUMBERS]
    return values if optional else [*values, refused("None", None)]


def forms(x):
    """Other forms of the same array, with other numeric dtypes."""
    x = np.asarray(x)
    longer = np.repeat(x, 2, axis=0)
    read_only = x.copy()
    read_only.flags.writeable = False
    return [
        same("a tensor", tf.constant(x), x),
        same("Fortran order", np.asfortranarray(x), x),
        same("every second row of an array", longer[::2], x),
        same("rows backwards in memory", x[::-1].copy()[::-1], x),
        same("read-only", read_only, x),
        either("another byte order", x.astype(x.dtype.newbyteorder()), x),
        either("Python objects", x.astype(object), x),
    ]


def floats(x, *, nan=Expected.REFUSED, ranks=True, optional=False):
    """Values for an array of real numbers `x`, float32, rows first.

    Args:
        nan: Expected outcome for NaN and infinity.
        ranks: Whether another rank must be refused.
        optional: Whether None is allowed.
    """
    x = np.asarray(x, np.float32)
    half = x.astype(np.float16)
    brain = tf.cast(x, tf.bfloat16)
    whole = np.rint(x * 10)
    values = [
        *forms(x),
        either("a list", x.tolist(), x),
        same("float64", x.astype(np.float64), x),
        either("float16", half, half.astype(np.float32)),
        either("bfloat16", brain, tf.cast(brain, tf.float32).numpy()),
        either("long double", x.astype(np.longdouble), x),
        either(
            "int8",
            whole.clip(-100, 100).astype(np.int8),
            whole.clip(-100, 100).astype(np.float32),
        ),
        either("int64", whole.astype(np.int64), whole),
        either(
            "uint8",
            np.abs(whole).clip(0, 255).astype(np.uint8),
            np.abs(whole).clip(0, 255).astype(np.float32),
        ),
        either("booleans", x > 0, (x > 0).astype(np.float32)),
        either("complex without imaginary part", x.astype(np.complex64), x),
        refused("complex", x + 1j * np.float32(1)),
        refused("strings", x.astype(str)),
        anything("times 1e19", x * np.float32(1e19)),
        anything("times 1e38", x / np.abs(x).max() * np.float32(1e38)),
        anything("times 1e-40", x.astype(np.float64) * 1e-40),
        anything("zeros", np.zeros_like(x)),
        anything("a constant", np.full_like(x, 0.7)),
        anything("int64 beyond 2^53", x.astype(np.int64) + 2**60),
        *not_arrays(optional),
    ]
    for name, number in (
        ("NaN", np.nan),
        ("infinity", np.inf),
        ("-infinity", -np.inf),
    ):
        damaged = x.copy()
        damaged.flat[-1] = number
        values.append(Hostile(name, damaged, nan))
    values.append(Hostile("all NaN", np.full_like(x, np.nan), nan))
    if ranks:
        values += [
            refused("a scalar", np.float32(3.0)),
            refused("no rows", x[:0]),
            refused("one more axis", x[np.newaxis]),
        ]
        if x.ndim > 1:
            values += [
                refused("one axis less", x[0]),
                refused("no columns", x[..., :0]),
            ]
    return values


def labels(y, *, arbitrary=True, strict=True):
    """Values for class ids `y`, integers `(n,)`.

    Args:
        arbitrary: Whether only equality of ids matters, so that shifted ids
            give the same result.
        strict: Whether floats with whole values must be refused.
    """
    y = np.asarray(y, np.int32)
    whole = refused if strict else None
    damaged = y.astype(np.float64)
    damaged[-1] = np.nan
    infinite = y.astype(np.float64)
    infinite[-1] = np.inf
    values = [
        *forms(y),
        same("a list", y.tolist(), y),
        *(
            same(f"{dtype}", y.astype(dtype), y)
            for dtype in ("int8", "int16", "int64", "uint8", "uint16")
        ),
        either("uint64", y.astype(np.uint64), y),
        (
            whole("whole floats", y.astype(np.float32))
            if whole
            else either("whole floats", y.astype(np.float32), y)
        ),
        refused("fractions", y * 0.3),
        refused("NaN", damaged),
        refused("all NaN", np.full(y.shape, np.nan)),
        refused("infinity", infinite),
        refused("complex", y + 1j),
        either("strings", y.astype(str), y),
        refused("a scalar", np.int32(3)),
        refused("no rows", y[:0]),
        refused("one row too few", y[:-1]),
        refused("one row too many", np.append(y, y[-1])),
        refused("two columns", np.stack([y, y], axis=1)),
        refused("one hot", np.eye(y.max() + 1, dtype=np.int32)[y]),
        either("a column", y[:, np.newaxis], y),
        anything("one class", np.zeros_like(y)),
        anything("all different", np.arange(len(y), dtype=np.int32)),
        *not_arrays(),
    ]
    if arbitrary:
        wide = y.astype(np.int64)
        values += [
            same("from -7", y - 7, y),
            same("from 2^24 + 1", y + 2**24 + 1, y),
            same("to 2^31 - 1", y - y.max() + (2**31 - 1), y),
            either("from 10^12", wide + 10**12, y),
            either("from 2^53 + 1", wide + 2**53 + 1, y),
            either("from -2^63", wide + np.iinfo(np.int64).min, y),
            either("from 2^32 + 0, 1, ...", wide * (2**32 + 1), y),
            either(
                "uint64 from 2^63", y.astype(np.uint64) + np.uint64(2**63), y
            ),
        ]
    return values


def truths(t):
    """Values for booleans `t`, `(n,)`."""
    t = np.asarray(t, bool)
    damaged = t.astype(np.float64)
    damaged[0] = np.nan
    return [
        *forms(t),
        same("a list", t.tolist(), t),
        either("0 and 1", t.astype(np.int64), t),
        either("0.0 and 1.0", t.astype(np.float32), t),
        refused("0 and 2", t * 2),
        refused("-1 and 1", np.where(t, 1, -1)),
        refused("fractions", t * 0.5),
        refused("NaN", damaged),
        refused("strings", t.astype(str)),
        refused("a scalar", True),
        refused("no rows", t[:0]),
        refused("one row too few", t[:-1]),
        refused("one more axis", t[np.newaxis]),
        anything("all true", np.ones_like(t)),
        anything("all false", np.zeros_like(t)),
        *not_arrays(),
    ]


HUGE = 2**62


def count(value, *, least=1, optional=False, huge=True):
    """Values for a whole number of at least `least`."""
    values = [
        same("int64", np.int64(value), value),
        same("int32", np.int32(value), value),
        either("a whole float", float(value), value),
        either("an array of one", np.array(value), value),
        either("True", True, 1),
        refused("one too few", least - 1),
        refused("-1", -1),
        refused("fraction", value + 0.5),
        refused("NaN", math.nan),
        refused("infinity", math.inf),
        refused("text", str(value)),
        refused("a list", [value]),
        refused("complex", complex(value, 1)),
    ]
    if huge:
        values.append(anything("huge", HUGE))
        values.append(anything("beyond int64", 2**70))
    return values if optional else [*values, refused("None", None)]


def number(
    value,
    *,
    low=None,
    high=None,
    includes_low=True,
    infinite=False,
    optional=False,
):
    """Values for a real number from `low` to `high`."""
    values = [
        same("float64", np.float64(value), value),
        either("an array", np.array(value), value),
        either("a tensor", tf.constant(value, tf.float64), value),
        either("True", True, 1.0),
        refused("NaN", math.nan),
        refused("text", "0.5"),
        refused("a list", [value, value]),
        refused("complex", complex(value, 1)),
        anything("1e-40", 1e-40),
    ]
    if not infinite:
        values.append(refused("infinity", math.inf))
        values.append(refused("-infinity", -math.inf))
    if low is not None:
        values.append(refused("below", low - 1.0))
        if not includes_low:
            values.append(refused("the lower end", float(low)))
    if high is not None:
        values.append(refused("above", high + 1.0))
    else:
        values.append(Hostile("1e38", 1e38, Expected.LARGE))
    return values if optional else [*values, refused("None", None)]


def choice(value, *, optional=False):
    """Values for a name among a few."""
    values = [
        refused("unknown", "hostile"),
        refused("capitals", value.upper()),
        refused("no letters", ""),
        refused("bytes", value.encode()),
        refused("0", 0),
        refused("a list", [value]),
        refused("an array", np.array([1.0, 2.0])),
    ]
    return values if optional else [*values, refused("None", None)]


def seed(value=0, *, optional=False):
    """Values for the seed of random numbers."""
    values = [
        same("int64", np.int64(value), value),
        anything("-1", -1),
        anything("2^31", 2**31),
        anything("2^40", 2**40),
        anything("2^63", 2**63),
        anything("2^100", 2**100),
        refused("fraction", 1.5),
        refused("NaN", math.nan),
        refused("text", "0"),
        refused("a list", [1, 2, 3]),
    ]
    return values if optional else [*values, refused("None", None)]


def seed_pair(value=(1, 2)):
    """Values for the two integers of `tf.random.stateless_*`."""
    return [
        same("an array", np.array(value, np.int32), value),
        same("a tensor", tf.constant(value, tf.int32), value),
        either("int64", np.array(value, np.int64), value),
        refused("one integer", 1),
        refused("three integers", (1, 2, 3)),
        refused("floats", (1.0, 2.0)),
        refused("NaN", (math.nan, 2.0)),
        refused("text", "hostile"),
        refused("empty", ()),
        anything("negative", (-1, -2)),
        anything("beyond int64", (2**70, 1)),
    ]


def function():
    """Values for a function."""
    return [
        refused("text", "hostile"),
        refused("a number", 3),
        refused("an array", np.ones(3)),
        refused("None", None),
    ]


def returning(shape):
    """Functions that return invalid results."""
    return [
        refused("returns None", lambda *_, **__: None),
        refused("returns text", lambda *_, **__: "hostile"),
        refused("returns NaN", lambda *_, **__: np.full(shape, np.nan)),
        refused("returns a scalar", lambda *_, **__: 1.0),
    ]
