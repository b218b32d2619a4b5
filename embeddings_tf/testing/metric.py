"""The checks of a metric: a function of arrays."""

import dataclasses
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from embeddings_tf.testing.entry import Entry
from embeddings_tf.testing.entry import assert_close


@dataclasses.dataclass(frozen=True, eq=False)
class Metric(Entry):
    """A function of arrays with a known best value and chance value.

    Args:
        perfect: Function that returns arguments (arrays with one row per
            example, by name), the documented best value, and a tolerance.
        chance: Function that returns the same for arguments without
            information, with the documented chance value (or worst value).
        read: Function from the result to the number that is compared.
    """

    perfect: Callable
    chance: Callable
    read: Callable = float

    def check_perfect(self):
        rows, expected, tolerance = self.perfect()
        value = self.read(self.make(**rows))
        assert abs(value - expected) <= tolerance, f"{value} != {expected}"

    def check_chance(self):
        rows, expected, tolerance = self.chance()
        value = self.read(self.make(**rows))
        assert abs(value - expected) <= tolerance, f"{value} != {expected}"

    def check_row_order(self):
        rows, _, _ = self.chance()
        length = len(next(iter(rows.values())))
        order = np.random.default_rng(4).permutation(length)
        mixed = {name: array[order] for name, array in rows.items()}
        value = self.read(self.make(**rows))
        assert_close(
            self.read(self.make(**mixed)), value, "depends on the order"
        )

    def check_tensors(self):
        rows, _, _ = self.chance()
        tensors = {name: tf.constant(array) for name, array in rows.items()}
        value = self.read(self.make(**rows))
        assert_close(self.read(self.make(**tensors)), value, "tensors differ")

    def check_plain_result(self):
        """Python numbers and arrays, single, in a dictionary or in a tuple."""
        result = self.make(**self.chance()[0])
        parts = [result]
        if isinstance(result, dict):
            parts = result.values()
        elif isinstance(result, tuple):
            parts = result
        for part in parts:
            assert type(part) in (float, int, np.ndarray), f"a {type(part)}"

    def _check_refused(self, rows, what, names=None):
        """Checks that the error names one of the arguments, by default any."""
        try:
            self.make(**rows)
        except ValueError as error:
            assert any(name in str(error) for name in names or rows), (
                f"{what}: the error does not name the argument"
            )
        else:
            raise AssertionError(f"{what}: no ValueError")

    def check_not_finite(self):
        rows, _, _ = self.chance()
        numbers = [n for n, a in rows.items() if a.dtype.kind == "f"]
        assert numbers, "no argument could be NaN"
        for name in numbers:
            for value in (np.nan, np.inf, -np.inf):
                array = rows[name].copy()
                array[-1] = value
                changed = {**rows, name: array}
                self._check_refused(changed, f"{name} {value}", [name])

    def check_unequal_lengths(self):
        rows, _, _ = self.chance()
        assert len(rows) > 1, "the metric has only one array"
        for name, array in rows.items():
            self._check_refused({**rows, name: array[:-1]}, f"short {name}")

    def check_empty(self):
        rows, _, _ = self.chance()
        self._check_refused({n: a[:0] for n, a in rows.items()}, "empty")
