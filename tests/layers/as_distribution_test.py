import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from embeddings_tf.layers import as_distribution


def packed_rows(shape=(4,), dim=3):
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(*shape, dim))
    variance = rng.uniform(0.01, 9, size=(*shape, dim))
    return np.concatenate([mean, variance], -1).astype("float32")


def test_against_scipy():
    packed = packed_rows()
    z = np.random.default_rng(1).normal(size=(4, 3)).astype("float32")
    distribution = as_distribution(packed)
    log_prob, entropy = distribution.log_prob(z), distribution.entropy()
    for row in range(4):
        mean, variance = packed[row, :3], packed[row, 3:]
        expected = stats.multivariate_normal(mean, np.diag(variance))
        np.testing.assert_allclose(
            log_prob[row], expected.logpdf(z[row]), rtol=1e-5
        )
        np.testing.assert_allclose(entropy[row], expected.entropy(), rtol=1e-5)
        np.testing.assert_allclose(distribution.mean()[row], mean)
        np.testing.assert_allclose(
            distribution.covariance()[row], np.diag(variance), rtol=1e-5
        )


def test_shapes():
    distribution = as_distribution(packed_rows((5, 2)))
    assert distribution.batch_shape == (5, 2)
    assert distribution.event_shape == (3,)
    assert distribution.sample(7, seed=[0, 1]).shape == (7, 5, 2, 3)


def test_nested_lists():
    distribution = as_distribution([[1.0, 4.0]])
    np.testing.assert_array_equal(distribution.stddev(), [[2.0]])


def test_odd_width():
    with pytest.raises(ValueError, match="even last axis"):
        as_distribution(np.ones((2, 3), "float32"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_becomes_float32(dtype):
    packed = tf.constant([[0.0, 1.0, 2.0, 3.0]], dtype)
    found = as_distribution(packed).stddev()
    assert found.dtype == tf.float32
    np.testing.assert_allclose(found, np.sqrt([[2, 3]]), rtol=1e-6)


@pytest.mark.parametrize(
    "packed", [None, {"a": 1}, object(), [[1.0, 2.0], [3.0]]], ids=type
)
def test_no_gaussians(packed):
    with pytest.raises(ValueError, match="Gaussians.*received"):
        as_distribution(packed)
