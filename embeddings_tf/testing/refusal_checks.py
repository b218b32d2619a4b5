"""Checks of inputs that a loss or objective must refuse or warn about."""

import warnings

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.testing.made_up_batches import separable
from embeddings_tf.testing.trainable import Trainable


class RefusalChecks(Trainable):
    """Wrong labels and embeddings, and batches without a training signal."""

    def _check_refused(self, labels, z, what):
        try:
            self.new()(labels, z)
        except ValueError as error:
            assert len(str(error)) > 40, f"{what}: the error must name a cure"
        else:
            raise AssertionError(f"{what}: no ValueError")

    def _check_refused_in_graph(self, signature, batches):
        """ValueError while tracing, or a failed assertion in the graph."""
        _, z = self.batch()
        loss = self.new()
        if isinstance(loss, keras.layers.Layer):
            loss.build((None,), (None, z.shape[-1]))
        function = tf.function(
            lambda y, z: loss(y, z), input_signature=signature, autograph=False
        )
        for what, (y, z) in batches.items():
            try:
                function(tf.constant(y, "float32"), tf.constant(z))
            except (ValueError, tf.errors.InvalidArgumentError):
                continue
            raise AssertionError(f"a graph accepts {what}")

    def check_bad_labels(self):
        labels, z = self.batch()
        halves = labels / 2
        huge = (labels * 2.0**24).astype("float32")
        self._check_refused(halves, z, "labels 0.0, 0.5, 1.0")
        self._check_refused(huge, z, "float32 ids from 2^24 on")
        for value in (np.nan, np.inf):
            bad = np.where(labels == 1, value, labels).astype("float32")
            self._check_refused(bad, z, f"labels of {value}")
        for dtype in ("bool", "complex64", "str"):
            self._check_refused(labels.astype(dtype), z, f"{dtype} labels")
        one_hot = np.eye(labels.max() + 1, dtype="int32")[labels]
        self._check_refused(one_hot, z, "one-hot labels")
        self._check_refused_in_graph(
            [tf.TensorSpec([None]), tf.TensorSpec([None, z.shape[1]])],
            {
                "labels 0.0, 0.5, 1.0": (halves, z),
                "NaN labels": (np.full(len(z), np.nan), z),
                "fewer labels": (labels[:-1], z),
            },
        )
        # XLA cannot check values, so it refuses all float labels.
        with_xla = tf.function(
            lambda y, z: self.new()(y, z), jit_compile=True, autograph=False
        )
        try:
            with_xla(tf.constant(labels, "float32"), tf.constant(z))
        except ValueError as error:
            assert "XLA" in str(error), error
        else:
            raise AssertionError("XLA accepts float labels")

    def check_bad_embeddings(self):
        labels, z = self.batch()
        self._check_refused(labels, z[:, 0], "embeddings of rank 1")
        self._check_refused(labels, z[:, None], "embeddings of rank 3")
        self._check_refused(labels, z[:, None, None], "embeddings of rank 4")
        self._check_refused(labels[:-1], z, "fewer labels")
        self._check_refused(labels[:1], z, "one label")
        self._check_refused(labels, z[:-1], "fewer embeddings")
        self._check_refused(labels, z + 0j, "complex embeddings")
        self._check_refused_in_graph(
            [tf.TensorSpec([None]), tf.TensorSpec(None)],
            {"embeddings of rank 3": (labels, z[:, None])},
        )

    # Batches without a training signal.

    def check_teachable_rows(self):
        labels, z = self.batch()
        needs = self.new().batch_needs
        cases = {
            "three classes": labels,
            "one class": 0 * labels,
            "singletons": np.arange(len(labels)),
            "two rows a class": np.arange(len(labels)) // 2,
            "one row": labels[:1],
            "one large class": np.maximum(np.arange(len(labels)) - 5, 0),
            "no rows": labels[:0],
        }
        support = getattr(self.new(), "num_support", None)
        least = needs.rows if support is None else support + 1
        for what, y in cases.items():
            expected = [
                sum(y == label) >= least and len(set(y)) > 1 for label in y
            ]
            if needs.rows_of_other > 1 and what == "one large class":
                expected = [False] * len(y)
            found = needs.teachable_rows(tf.constant(y)).numpy()
            assert found.tolist() == expected, f"{what}: {found}"

    def check_teachable_rows_warning(self):
        """Training without a training signal warns after an epoch."""
        labels, _ = self.batch()
        x = separable(labels)
        for y, text in (
            (np.arange(len(labels)), "sampling"),
            (0 * labels, "sampling"),
            (labels, None),
        ):
            model = self.model()
            model.run_eagerly = True
            with warnings.catch_warnings(record=True) as found:
                warnings.simplefilter("always")
                model.fit(x, y, batch_size=len(y), epochs=2, verbose=0)
            found = [str(w.message) for w in found if "teach" in str(w.message)]
            assert len(found) == bool(text), f"{len(found)} warnings"
            assert all(text in message for message in found), found
