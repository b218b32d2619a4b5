"""Expected values from quadrature, SciPy and diagonal Gaussians."""

import numpy as np
import pytest
import tensorflow as tf
from scipy import special
from scipy import stats

from embeddings_tf.models import EmbeddingModel
from embeddings_tf.models import n_digit_encoder
from embeddings_tf.models.method import Method
from embeddings_tf.objectives import FullCovariancePrototypes
from embeddings_tf.objectives import StochasticPrototypes

LABELS = np.array([4, 4, 7, 7])


def embeddings(rows=4, seed=0):
    """Means, raw variances and raw correlations."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 5)).astype("float32")


def unpacked(packed):
    """Means and covariances in float64."""
    packed = packed.astype("float64")
    stddev = np.sqrt(np.log1p(np.exp(packed[:, 2:4])) + 1e-12)
    correlation = np.tile(np.eye(2), (len(packed), 1, 1))
    correlation[:, 0, 1] = correlation[:, 1, 0] = 0.999 * np.tanh(packed[:, 4])
    return packed[:, :2], stddev[:, :, None] * correlation * stddev[:, None]


def entries(cov):
    """The three entries of covariances, in the order of prototypes."""
    return np.stack([cov[:, 0, 0], cov[:, 1, 1], cov[:, 0, 1]], 1)


def probability(mean, cov, class_means, class_covs):
    """E over z of the softmax of densities, by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    grid = np.stack(np.meshgrid(nodes, nodes), -1).reshape(-1, 2)
    weight = np.outer(weights, weights).ravel() / (2 * np.pi)
    z = mean + grid @ np.linalg.cholesky(cov).T
    densities = [
        stats.multivariate_normal(m, c).logpdf(z)
        for m, c in zip(class_means, class_covs, strict=True)
    ]
    return weight @ special.softmax(np.stack(densities, 1), axis=1)


def test_one_support_is_the_prototype_plus_noise():
    objective = FullCovariancePrototypes(1)
    packed = embeddings()
    found = objective.represent(packed, [0, 1, 2, 3], 4)
    expected_mean, expected_cov = unpacked(packed)
    noise = objective.noise_variance.numpy()
    np.testing.assert_allclose(noise, 0.01, rtol=1e-5)  # of one support
    expected = np.hstack(
        [expected_mean, entries(expected_cov + noise * np.eye(2))]
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_probability_by_quadrature():
    objective = FullCovariancePrototypes(1)
    packed = embeddings(seed=1)
    represented = objective.represent(packed[:3], [0, 1, 2], 3)
    found = objective.log_prob(packed[3:], represented, 20_000, seed=0)
    mean, cov = unpacked(packed)
    noise = objective.noise_variance.numpy() * np.eye(2)
    expected = probability(mean[3], cov[3], mean[:3], cov[:3] + 2 * noise)
    assert expected.min() > 0.02
    np.testing.assert_allclose(np.exp(found[0]), expected, atol=0.01)


def test_loss_estimates_the_probability_without_bias():
    """The mean of exp(-loss) over seeds, one query of one of two classes."""
    packed = embeddings(seed=2)
    labels = np.array([4, 7, 7, 4])  # one support each, two queries
    objective = FullCovariancePrototypes(1, 50_000, seed=3)
    mean, cov = unpacked(packed)
    objective(labels, packed)
    noise = objective.noise_variance.numpy() * np.eye(2)
    classes = mean[:2], cov[:2] + 2 * noise
    expected = -np.mean(
        [
            np.log(probability(mean[row], cov[row], *classes)[target])
            for row, target in ((2, 1), (3, 0))
        ]
    )
    np.testing.assert_allclose(objective(labels, packed), expected, atol=0.03)


def test_without_correlation_it_is_stochastic_prototypes():
    packed = embeddings(8, seed=4)
    packed[:, 4] = 0
    mean, cov = unpacked(packed)
    variance = np.diagonal(cov, axis1=1, axis2=2)
    diagonal = np.hstack([mean, variance]).astype("float32")
    class_ids = [0, 1, 1, 0, 0]
    full, usual = FullCovariancePrototypes(2), StochasticPrototypes(2)
    represented = full.represent(packed[:5], class_ids, 2)
    prototypes = usual.prototypes(diagonal[:5], class_ids, 2)
    np.testing.assert_allclose(represented[:, :4], prototypes, rtol=1e-4)
    for name, arguments in {
        "log_prob": {"num_samples": 50, "seed": 1},
        "log_evidence": {},
    }.items():
        np.testing.assert_allclose(
            getattr(full, name)(packed[5:], represented, **arguments),
            getattr(usual, name)(diagonal[5:], prototypes, **arguments),
            rtol=1e-4,
            atol=1e-4,
        )
    np.testing.assert_allclose(
        full.score_pairs(packed[:3], packed[3:6]),
        usual.score_pairs(diagonal[:3], diagonal[3:6]),
        rtol=1e-4,
    )


def test_evidence_by_scipy():
    objective = FullCovariancePrototypes(1)
    packed = embeddings(seed=5)
    represented = objective.represent(packed[:2], [0, 1], 2)
    mean, cov = unpacked(packed)
    noise = objective.noise_variance.numpy() * np.eye(2)
    for row in (2, 3):
        densities = [
            stats.multivariate_normal(
                mean[label], cov[row] + cov[label] + 2 * noise
            ).pdf(mean[row])
            for label in (0, 1)
        ]
        np.testing.assert_allclose(
            objective.log_evidence(packed[row : row + 1], represented)[0],
            np.log(np.mean(densities)),
            rtol=1e-4,
        )


def test_points_are_the_means():
    model = EmbeddingModel(
        n_digit_encoder(5, gaussian=False, image_shape=(8, 16, 1)),
        FullCovariancePrototypes(2),
    )
    packed = embeddings()
    points = Method(model).points(packed)
    assert tf.is_tensor(points) and points.shape == (4, 2)
    np.testing.assert_array_equal(points, packed[:, :2])
    assert not Method(model).is_gaussian


def test_another_width_is_refused():
    with pytest.raises(ValueError, match=r"of shape \(4, 4\)\. End the"):
        FullCovariancePrototypes(1)(LABELS, np.zeros((4, 4), "float32"))


def test_a_diagonal_gaussian_is_refused():
    with pytest.raises(ValueError, match="compares points"):
        EmbeddingModel(
            n_digit_encoder(2, image_shape=(8, 16, 1)),
            FullCovariancePrototypes(1),
        )
