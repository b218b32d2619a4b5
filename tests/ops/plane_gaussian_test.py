"""Gaussians in the plane, beside NumPy and SciPy."""

import numpy as np
import tensorflow as tf
from scipy import stats

from embeddings_tf.ops import plane_gaussian


def gaussians(count, seed=0):
    """Means `(n, 2)` and covariances `(n, 2, 2)`."""
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(count, 2, 2))
    cov = factor @ factor.transpose(0, 2, 1) + 0.1 * np.eye(2)
    return rng.normal(size=(count, 2)), cov


def packed(mean, cov):
    entries = [cov[:, 0, 0], cov[:, 1, 1], cov[:, 0, 1]]
    return tf.constant(np.hstack([mean, np.stack(entries, 1)]))


def unpacked(found):
    found = np.asarray(found)
    a, b, c = found[:, 2:].T
    cov = np.stack([np.stack([a, c], -1), np.stack([c, b], -1)], 1)
    return found[:, :2], cov


def test_order_and_ranges_of_features():
    features = np.float32([[1, 2, 3, -4, 0.5]])
    found = plane_gaussian.from_features(tf.constant(features)).numpy()[0]
    variance = np.log1p(np.exp([3.0, -4.0])) + 1e-12
    covariance = 0.999 * np.tanh(0.5) * np.sqrt(variance.prod())
    np.testing.assert_allclose(found, [1, 2, *variance, covariance])


def test_extreme_features_are_covariances():
    extremes = [-1e19, -30, 0, 1e19]
    features = np.float32(
        [(0, 0, a, b, c) for a in extremes for b in extremes for c in extremes]
    )
    found = plane_gaussian.from_features(tf.constant(features))
    _, cov = unpacked(found)
    assert np.isfinite(cov).all()
    assert np.all(cov[:, 0, 0] * cov[:, 1, 1] > 1.001 * cov[:, 0, 1] ** 2)


def test_a_row_that_is_not_finite_is_nan():
    features = np.zeros((4, 5), "float32")
    features[0, 4], features[1, 2], features[2, 0] = np.inf, -np.inf, np.nan
    found = plane_gaussian.from_features(tf.constant(features)).numpy()
    assert np.isnan(found[:3]).all() and np.isfinite(found[3]).all()


def test_log_density():
    mean, cov = gaussians(4)
    points = np.random.default_rng(1).normal(size=(3, 4, 2))
    found = plane_gaussian.log_density(packed(mean, cov), points)
    for row in range(4):
        expected = stats.multivariate_normal(mean[row], cov[row])
        np.testing.assert_allclose(
            found[:, row], expected.logpdf(points[:, row])
        )


def test_posterior_is_the_product():
    (mean, cov), class_ids = gaussians(5), np.array([0, 1, 0, 0, 1])
    found_mean, found_cov = unpacked(
        plane_gaussian.posterior(packed(mean, cov), class_ids, 2)
    )
    for label in (0, 1):
        precision = np.linalg.inv(cov[class_ids == label])
        expected = np.linalg.inv(precision.sum(axis=0))
        weighted = np.einsum("nij,nj->i", precision, mean[class_ids == label])
        np.testing.assert_allclose(found_cov[label], expected)
        np.testing.assert_allclose(found_mean[label], expected @ weighted)


def test_product_of_two():
    first, second = packed(*gaussians(3, 1)), packed(*gaussians(3, 2))
    together = tf.concat([first, second], 0)
    np.testing.assert_allclose(
        plane_gaussian.product(first, second),
        plane_gaussian.posterior(together, [0, 1, 2, 0, 1, 2], 3),
    )


def test_difference_and_variance():
    (a, cov_a), (b, cov_b) = gaussians(3, 1), gaussians(3, 2)
    mean, cov = unpacked(
        plane_gaussian.add_variance(
            plane_gaussian.difference(packed(a, cov_a), packed(b, cov_b)), 0.3
        )
    )
    np.testing.assert_allclose(mean, a - b)
    np.testing.assert_allclose(cov, cov_a + cov_b + 0.3 * np.eye(2))


def test_samples_are_the_factor_times_the_noise():
    mean, cov = gaussians(6)
    noise = np.random.default_rng(1).normal(size=(6, 2))
    factor = np.linalg.cholesky(cov)
    np.testing.assert_allclose(
        plane_gaussian.sample(packed(mean, cov), tf.constant(noise)),
        mean + np.einsum("nij,nj->ni", factor, noise),
    )
