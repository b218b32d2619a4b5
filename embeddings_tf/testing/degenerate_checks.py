"""Checks of a loss or objective on degenerate batches."""

import numpy as np

from embeddings_tf.testing.entry import assert_close
from embeddings_tf.testing.entry import assert_finite
from embeddings_tf.testing.trainable import Trainable


class DegenerateChecks(Trainable):
    """Checks values and gradients of degenerate batches."""

    def _check_degenerate(self, name, labels, z, quiet=True):
        values, gradients = self.evaluate(labels, z)
        assert_finite([values], f"{name}: the value is not finite")
        assert_finite(gradients, f"{name}: a gradient is not finite")
        if self.documented is None:
            return gradients
        assert name in self.documented, f"{name}: no documented value given"
        expected = self.documented[name]
        if callable(expected):
            expected = expected(self)
        if quiet:
            values = self.values(labels, self.quiet(z))
        what = f"{name}: differs from the documented value"
        assert_close(np.mean(values), expected, what, rtol=1e-4, atol=1e-4)
        return gradients

    def check_one_class(self):
        labels, z = self.batch()
        self._check_degenerate("one_class", np.zeros_like(labels), z)

    def check_singletons(self):
        labels, z = self.batch()
        self._check_degenerate("singletons", np.arange(len(labels)), z)

    def check_coinciding_points(self):
        labels, z = self.batch()
        z = np.repeat(z[:1], len(z), axis=0)
        self._check_degenerate("coinciding_points", labels, z)

    def check_zeros(self):
        """Embeddings of zeros; for Gaussians the variances are zero, too."""
        labels, z = self.batch()
        for zeros in (np.zeros_like(z), self.narrow(z)):
            values, gradients = self.evaluate(labels, zeros)
            assert_finite([values], "the value is not finite")
            assert_finite(gradients, "a gradient is not finite")

    def check_no_queries(self):
        labels, z = self.batch()
        num_support = getattr(self.make(), "num_support", None)
        assert num_support, "the batch has no queries"
        rows = np.concatenate(
            [np.flatnonzero(labels == c)[:num_support] for c in set(labels)]
        )
        gradients = self._check_degenerate("no_queries", labels[rows], z[rows])
        assert not np.any(gradients[0]), "a gradient although no query exists"

    def check_tiny_scale(self):
        labels, z = self.batch()
        self._check_degenerate("tiny_scale", labels, self.scale(z, 1e-18))

    def check_huge_scale(self):
        labels, z = self.batch()
        self._check_degenerate(
            "huge_scale", labels, self.scale(z, 1e18), quiet=False
        )

    def value_at_scale(self, factor) -> float:
        labels, z = self.batch()
        return float(np.mean(self.values(labels, self.scale(z, factor))))
