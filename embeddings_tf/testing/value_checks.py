"""Checks of the values of a loss or objective."""

import numpy as np
import tensorflow as tf

from embeddings_tf.testing.entry import assert_close
from embeddings_tf.testing.entry import assert_finite
from embeddings_tf.testing.made_up_batches import in_class_order
from embeddings_tf.testing.trainable import Trainable


class ValueChecks(Trainable):
    """Checks that values depend on neither order, class names nor types."""

    def check_vector(self):
        labels, z = self.batch()
        values, gradients = self.evaluate(labels, z)
        assert values.shape == labels.shape, "one value per example"
        assert values.dtype == tf.float32, "values must be float32"
        assert_finite([values, *gradients], "not finite")
        assert np.any(gradients[0]), "no gradient"
        if self.set_wise:
            assert_close(values, values[0], "the values of the rows differ")

    def check_deterministic(self):
        labels, z = self.batch()
        assert_close(
            self.values(labels, z), self.values(labels, z), "not repeatable"
        )

    def check_sample_weight(self):
        labels, z = self.batch()
        weight = np.linspace(0, 3, len(labels), dtype="float32")
        expected = np.mean(self.values(labels, z) * weight)
        weighted = self.weighted(labels, z, weight)
        assert_close(weighted, expected, "weights must scale the values")

    def _check_order(self, order):
        labels, z = self.batch()
        z = self.quiet(z)
        assert (order != np.arange(len(labels))).any()
        assert_close(
            self.values(labels[order], z[order]),
            self.values(labels, z)[order],
            "depends on the order of the batch",
            rtol=1e-4,
        )

    def check_batch_order(self):
        labels, _ = self.batch()
        order = np.random.default_rng(3).permutation(len(labels))
        self._check_order(in_class_order(labels, order))

    def check_order_within_class(self):
        labels, _ = self.batch()
        self._check_order(np.arange(len(labels))[::-1])

    def _check_ids(self, ids_by_message):
        labels, z = self.batch()
        expected = self.values(labels, z)
        for message, ids in ids_by_message.items():
            assert_close(self.values(ids[labels], z), expected, message)

    def _numbers(self):
        """The numbers of the classes, from 0."""
        return np.arange(self.batch()[0].max() + 1, dtype="int64")

    def check_class_names(self):
        mixed = np.roll(self._numbers(), 1)
        self._check_ids(
            {f"class ids {ids}": ids for ids in (mixed, 50 + 10 * mixed)}
        )

    def check_class_ids(self):
        numbers = self._numbers()
        # These ids are equal modulo 2^32.
        cases = {"ids beyond int32": 2**32 * numbers}
        last = 2**63 - len(numbers)
        for start in (-(2**31), -1, 20_240_101, 10**9, 2**40, last):
            ids = start + numbers
            cases[f"class ids from {start}"] = ids
            if abs(ids).max() < 2**31:
                cases[f"int32 from {start}"] = ids.astype("int32")
        self._check_ids(cases)

    def check_label_types(self):
        labels, z = self.batch()
        expected = self.values(labels, z)
        for dtype in ("int32", "int64", "float32"):
            for typed in (labels.astype(dtype), labels.astype(dtype)[:, None]):
                what = f"labels {dtype} of shape {typed.shape}"
                assert_close(self.values(typed, z), expected, what)

    def check_half_precision(self):
        labels, z = self.batch()
        for dtype in ("float16", "bfloat16"):
            half = tf.cast(z, dtype)
            values, gradients = self.evaluate(labels, half)
            assert values.dtype == tf.float32, f"{dtype}: not float32"
            assert_finite([tf.cast(gradients[0], "float32")], dtype)
            expected = self.values(labels, tf.cast(half, "float32"))
            assert_close(values, expected, f"{dtype} embeddings")

    def check_empty_batch(self):
        labels, z = self.batch()
        values = self.values(labels[:0], z[:0])
        assert values.shape == (0,), "an empty batch has no values"
