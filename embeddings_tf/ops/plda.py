"""Linear-Gaussian models of classes: two-covariance PLDA and LDA, in NumPy.

All arrays are float64. Class ids are `(n,)` integers in `[0, num_classes)`, and
each class occurs.
"""

from typing import NamedTuple

import numpy as np

# Smallest share of the variance in a direction; less is float32 rounding.
RESOLUTION = 1e-10
# Smallest variance within classes, as a share of the variance of the data in
# the same direction. Without it, a direction without spread within classes
# has infinite likelihood.
LEAST_WITHIN = 1e-6


class Statistics(NamedTuple):
    """Sufficient statistics of the likelihood of labelled examples."""

    counts: np.ndarray  # (num_classes,)
    means: np.ndarray  # (num_classes, dim)
    scatter: np.ndarray  # (dim, dim), about the means of the classes


class TwoCovariance(NamedTuple):
    """`x = mean + y + e`, with one `y ~ N(0, between)` per class and one
    `e ~ N(0, within)` per example."""

    mean: np.ndarray  # (dim,)
    between: np.ndarray  # (dim, dim)
    within: np.ndarray  # (dim, dim)


def processed(
    x: np.ndarray,
    offset: np.ndarray,
    projection: np.ndarray | None,
    length_normalize: bool,
) -> np.ndarray:
    """Subtracts an offset, projects, and normalises the length if asked."""
    x = x - offset
    if projection is not None:
        x = x @ projection
    if length_normalize:
        length = np.linalg.norm(x, axis=1, keepdims=True)
        scale = np.sqrt(x.shape[1])
        x = scale * np.divide(x, length, where=length > 0, out=0 * x)
    return x


def statistics(x: np.ndarray, class_ids: np.ndarray) -> Statistics:
    """Computes the statistics of examples `(n, dim)`."""
    # Relative to one of the examples, so that a constant dimension is zero.
    deviations = x - x[0]
    counts = np.bincount(class_ids).astype(np.float64)
    order = np.argsort(class_ids, kind="stable")
    starts = np.cumsum(counts).astype(int) - counts.astype(int)
    means = np.add.reduceat(deviations[order], starts) / counts[:, None]
    residuals = deviations - means[class_ids]
    return Statistics(counts, x[0] + means, residuals.T @ residuals)


def mean_of_rows(x: np.ndarray) -> np.ndarray:
    """Mean `(dim,)` of `(n, dim)`, exact in a constant dimension."""
    return x[0] + np.mean(x - x[0], axis=0)


def whitening(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns `(dim, rank)` that whitens a covariance, and its inverse.

    The inverse is `(rank, dim)`. Directions without variance are left out. The
    choice of directions does not depend on the units of single dimensions.
    """
    scale = np.sqrt(np.diag(covariance))
    inverse_scale = np.divide(
        1, scale, where=scale > 0, out=np.zeros_like(scale)
    )
    correlation = inverse_scale[:, None] * covariance * inverse_scale
    values, vectors = np.linalg.eigh(correlation)
    kept = values > RESOLUTION * max(values[-1], 1)
    root, vectors = np.sqrt(values[kept]), vectors[:, kept]
    return (
        inverse_scale[:, None] * vectors / root,
        (scale[:, None] * vectors * root).T,
    )


def diagonalize(
    between: np.ndarray, within: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the most discriminative directions, best first.

    Returns `transform`, `(dim, rank)`, and `ratio`, `(rank,)`, descending:

    ```
    transform^T within transform = I
    transform^T between transform = diag(ratio)
    ```

    Directions in which neither varies are left out. A ratio is at most the
    inverse of `RESOLUTION`, even for classes without spread.
    """
    whiten, _ = whitening(between + within)
    # Both add up to the identity here, so one decomposition suffices.
    shares, vectors = np.linalg.eigh(whiten.T @ within @ whiten)
    shares = np.clip(shares, RESOLUTION, 1)
    return whiten @ vectors / np.sqrt(shares), (1 - shares) / shares


def lda(examples: Statistics) -> tuple[np.ndarray, np.ndarray]:
    """`diagonalize` of the scatters of examples, divided by their number."""
    num_examples = np.sum(examples.counts)
    deviations = examples.means - examples.means[0]
    deviations -= examples.counts @ deviations / num_examples
    between = (examples.counts[:, None] * deviations).T @ deviations
    return diagonalize(between / num_examples, examples.scatter / num_examples)


def fit(
    examples: Statistics, max_iterations: int, tolerance: float
) -> tuple[TwoCovariance, list[float]]:
    """Fits by maximum likelihood with EM; returns the model and its history.

    The history is the log-likelihood per example at the start and after each
    of at most `max_iterations` iterations. EM stops when an iteration adds at
    most `tolerance`. The likelihood is the density in the subspace in which
    the examples vary.
    """
    counts, num_examples = examples.counts[:, None], np.sum(examples.counts)
    num_classes, dim = examples.means.shape
    origin = examples.means[0]
    deviations = examples.means - origin
    centre = examples.counts @ deviations / num_examples
    between = (counts * (deviations - centre)).T @ (deviations - centre)
    whiten, unwhiten = whitening((between + examples.scatter) / num_examples)
    log_volume = np.linalg.slogdet(unwhiten @ unwhiten.T)[1] / 2

    means = deviations @ whiten
    scatter = whiten.T @ examples.scatter @ whiten
    mean = np.mean(means, axis=0)
    between = (means - mean).T @ (means - mean) / num_classes
    within = _at_least(scatter / (num_examples - num_classes), LEAST_WITHIN)
    course = []
    while True:
        # Coordinates in which all covariances of the model are diagonal.
        transform, ratio = diagonalize(between, within)
        back = transform.T @ within
        class_means = (means - mean) @ transform
        class_scatter = transform.T @ scatter @ transform
        growth = 1 + counts * ratio
        course.append(
            np.linalg.slogdet(transform)[1]
            - log_volume
            - transform.shape[1] / 2 * np.log(2 * np.pi)
            - (
                np.sum(np.log(growth) + counts * class_means**2 / growth)
                + np.trace(class_scatter)
            )
            / (2 * num_examples)
        )
        converged = len(course) > 1 and course[-1] - course[-2] <= tolerance
        if converged or len(course) > max_iterations:
            break
        # Expectation of y given the examples of its class: mean and variance.
        variance = ratio / growth
        expected = counts * variance * class_means
        shift = np.mean(expected, axis=0)
        mean = mean + shift @ back
        between = np.diag(np.mean(variance, axis=0))
        between += (expected - shift).T @ (expected - shift) / num_classes
        residuals = class_means - expected
        within = class_scatter + np.diag(np.sum(counts * variance, axis=0))
        within += (counts * residuals).T @ residuals
        between = back.T @ between @ back
        within = back.T @ within @ back / num_examples
        within = _at_least(within, LEAST_WITHIN)
    model = TwoCovariance(
        origin + mean @ unwhiten,
        unwhiten.T @ between @ unwhiten,
        unwhiten.T @ within @ unwhiten,
    )
    return model, [float(value) for value in course]


def log_likelihood_ratios(
    enroll: np.ndarray,
    counts: np.ndarray,
    test: np.ndarray,
    ratio: np.ndarray,
) -> np.ndarray:
    """`(m, n)`: log-likelihood ratios, same class versus different classes.

    All arguments are in the coordinates of `diagonalize`, minus the mean:
    `enroll`, `(m, dim)`, are means of `counts` examples, `(m, 1)` or `(1, 1)`;
    `test` is `(n, dim)`.
    """
    gain, variance, total = _prediction(counts, ratio)
    constant = np.sum(np.log(total / variance), axis=1, keepdims=True)
    expected = gain * enroll
    constant = constant - np.sum(expected**2 / variance, axis=1, keepdims=True)
    square = (1 / total - 1 / variance) @ (test**2).T
    return (constant + square) / 2 + (expected / variance) @ test.T


def log_likelihood_ratio_of_rows(
    first: np.ndarray, second: np.ndarray, ratio: np.ndarray
) -> np.ndarray:
    """`(n,)`: the ratios of row i of `first` and of `second`, `(n, dim)`."""
    gain, variance, total = _prediction(np.ones((1, 1)), ratio)
    distance = (second - gain * first) ** 2 / variance
    terms = np.log(total / variance) + second**2 / total - distance
    return np.sum(terms, axis=1) / 2


def _prediction(counts, ratio):
    """Predictive distribution of a further example: `N(gain * mean, variance)`
    if it is in the class, `N(0, total)` if it is in another class."""
    growth = 1 + counts * ratio
    return counts * ratio / growth, 1 + ratio / growth, 1 + ratio


def _at_least(covariance: np.ndarray, least: float) -> np.ndarray:
    """Returns the covariance with each eigenvalue raised to `least`."""
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    return (vectors * np.maximum(values, least)) @ vectors.T


def lda_projection(examples: Statistics, num_dims: int) -> np.ndarray:
    """Returns the directions that LDA keeps, as columns."""
    directions, _ = lda(examples)
    most = _most_dims(examples, directions)
    if num_dims > most:
        raise ValueError(
            "LDA keeps at most one dimension less than there are "
            "classes, and only dimensions in which embeddings vary, "
            f"here {most}; received num_dims={num_dims}. Lower "
            "it, or fit on more classes."
        )
    return directions[:, :num_dims]


def most_dims(examples: Statistics) -> int:
    """Returns how many dimensions LDA can keep; 0 for equal examples."""
    return _most_dims(examples, lda(examples)[0])


def _most_dims(examples: Statistics, directions: np.ndarray) -> int:
    return min(len(examples.counts) - 1, directions.shape[1])


def means_of_labels(
    x: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns means of labels, labels ascending, and counts `(labels, 1)`."""
    _, class_ids = np.unique(labels, return_inverse=True)
    counts = np.bincount(class_ids)[:, None]
    sums = np.zeros((len(counts), x.shape[1]))
    np.add.at(sums, class_ids, x)
    return sums / counts, counts
