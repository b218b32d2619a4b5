"""Mutual information of binned codes and factors."""

from collections.abc import Iterable

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.arrays import number_of_bins
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import share

# Tolerance for rounding errors of 0, in nats.
NOTHING = 1e-12


def discrete(
    codes: np.ndarray,
    factors: np.ndarray,
    bins: int,
    binning: str,
    min_probability: float,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Numbers the bins of dimensions and the values of factors from 0."""
    bins = number_of_bins("bins", bins)
    one_of("binning", binning, ("uniform", "quantile"))
    share("min_probability", min_probability)
    codes, _ = arrays.scaled(codes, axis=0)
    binned = [_bin(dimension, bins, binning) for dimension in codes.T]
    return _numbered(binned), _numbered(factors.T)


def _numbered(columns: Iterable[np.ndarray]) -> list[np.ndarray]:
    """Numbers the distinct values of each column from 0."""
    return [np.unique(column, return_inverse=True)[1] for column in columns]


def information_table(
    binned: list[np.ndarray], values: list[np.ndarray], min_probability: float
) -> np.ndarray:
    """Returns mutual information `(dims, num_factors)`, in nats."""
    return np.array(
        [
            [_information_of_pair(a, b, min_probability) for b in values]
            for a in binned
        ]
    )


def permuted_information(
    binned: list[np.ndarray],
    values: list[np.ndarray],
    min_probability: float,
    num_permutations: int,
    seed: int,
) -> np.ndarray:
    """Returns `(num_permutations, dims, num_factors)`, with permuted rows."""
    if positive_integer("num_permutations", num_permutations) < 20:
        raise ValueError(
            "`num_permutations` must be at least 20, to estimate chance and "
            f"its spread; received {num_permutations}."
        )
    rng = arrays.generator(seed)
    orders = (rng.permutation(len(values[0])) for _ in range(num_permutations))
    return np.stack(
        [
            information_table(
                binned, [v[order] for v in values], min_probability
            )
            for order in orders
        ]
    )


def _bin(values: np.ndarray, bins: int, binning: str) -> np.ndarray:
    """Returns bins, closed at the lower end; the last one at both ends."""
    if binning == "uniform":
        edges = np.linspace(np.min(values), np.max(values), bins + 1)
    else:
        edges = np.quantile(values, np.linspace(0, 1, bins + 1))
    return np.searchsorted(edges[1:-1], values, side="right")


def _information_of_pair(
    a: np.ndarray, b: np.ndarray, min_probability: float
) -> float:
    # mutual_info_score of scikit-learn agrees to 1e-15 but takes 30 to 50
    # times as long, and a permutation test calls this thousands of times.
    num_bins, num_values = np.max(a) + 1, np.max(b) + 1
    counts = np.bincount(a * num_values + b, minlength=num_bins * num_values)
    counts = counts.reshape(num_bins, num_values)
    independent = np.outer(np.sum(counts, axis=1), np.sum(counts, axis=0))
    kept = counts > min_probability * len(a)
    counts, independent = counts[kept], independent[kept]
    # Counts rather than probabilities, so that a constant gives exactly 0.
    terms = counts / len(a) * np.log(counts * len(a) / independent)
    return max(0.0, float(np.sum(terms)))
