import numpy as np
import pytest

from embeddings_tf.callbacks.variance_shares import variance_shares


def test_law_of_total_variance():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(5000, 2)) * [1, 2]
    variance = rng.gamma(2, size=(5000, 2))
    found = variance_shares(mean, variance)
    samples = mean + np.sqrt(variance) * rng.normal(size=(400, 5000, 2))
    total = samples.reshape(-1, 2).var(axis=0).sum()
    expected = variance.sum(-1).mean() / total
    assert found["variance_share"] == pytest.approx(expected, rel=0.01)
    spread = variance.sum(-1).std() / variance.sum(-1).mean()
    assert found["variance_variation"] == pytest.approx(spread, rel=1e-5)


def test_no_variance_at_all():
    found = variance_shares(np.zeros((3, 2)), np.zeros((3, 2)))
    assert found == {"variance_share": 0.0, "variance_variation": 0.0}
