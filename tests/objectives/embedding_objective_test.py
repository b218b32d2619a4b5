"""Half precision as the `dtype` of an objective."""

import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf import objectives
from embeddings_tf.layers import PairDistance

LABELS = np.repeat([0, 1, 2], 3)


class Spread(objectives.EmbeddingObjective):
    """An objective of a user's own."""

    def build(self, y_true_shape, y_pred_shape):
        self.scale = self.add_weight(name="scale", initializer="ones")

    def call(self, y_true, y_pred):
        return self.scale * tf.reduce_sum(y_pred**2, axis=1)


def learned_distance(dtype):
    distance = PairDistance((4,), seed=1, dtype="float32")
    return objectives.LearnedDistance(
        distance, 3, "additive_margin", seed=2, dtype=dtype
    )


OBJECTIVES = {
    "stochastic": lambda dtype: objectives.StochasticPrototypes(
        1, initial_noise_variance=1e-5, seed=0, dtype=dtype
    ),
    "full": lambda dtype: objectives.FullCovariancePrototypes(
        1, seed=0, dtype=dtype
    ),
    "hedged": lambda dtype: objectives.HedgedInstances(seed=0, dtype=dtype),
    "soft": lambda dtype: objectives.SoftContrastive(dtype=dtype),
    "learned": learned_distance,
    "own": lambda dtype: Spread(dtype=dtype),
}


@pytest.mark.parametrize("dtype", ["float16", "mixed_float16", "bfloat16"])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_half_precision_computes_in_float32(name, dtype):
    """Variances of 1e-6 and squares above 65,504 have finite values."""
    rng = np.random.default_rng(0)
    width = 5 if name == "full" else 4
    z = np.abs(rng.normal(size=(9, width)))
    z *= [1, 300, *[1e-6] * (width - 2)]
    expected, found = (
        OBJECTIVES[name](dtype)(LABELS, z.astype("float32"))
        for dtype in ("float32", dtype)
    )
    assert found.dtype == tf.float32
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_methods_in_half_precision():
    """A variance of 1e-8 is 0 in float16, and its precision infinite."""
    packed = np.array([[1, 2, 1e-8, 1e-8], [3, 4, 1e-8, 1e-8]], "float32")
    objective = objectives.StochasticPrototypes(
        1, initial_noise_variance=1e-8, dtype="float16"
    )
    found = objective.prototypes(packed, [0, 1], 2)
    expected = packed + np.float32([0, 0, 1e-8, 1e-8])
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_another_kind_of_dtype_is_refused():
    with pytest.raises(ValueError, match="received 'int32'"):
        Spread(dtype="int32")
