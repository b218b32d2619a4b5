"""Mutual information of dimensions of a code and factors."""

from typing import Any

import numpy as np

from embeddings_tf.metrics.binned_information import NOTHING
from embeddings_tf.metrics.binned_information import discrete
from embeddings_tf.metrics.binned_information import information_table
from embeddings_tf.metrics.binned_information import permuted_information
from embeddings_tf.metrics.codes_and_factors import codes_and_factors
from embeddings_tf.ops.arguments import one_of


def mutual_information(
    codes: Any,
    factors: Any,
    bins: int = 20,
    *,
    binning: str = "uniform",
    min_probability: float = 0.0,
    correction: str | None = None,
    num_permutations: int = 100,
    seed: int = 0,
) -> np.ndarray:
    """Mutual information of each dimension of a code and each factor.

    Use it to see which dimension describes which factor. `modularity` is
    computed from it. Each dimension is divided into bins.

    Formula:

    ```
    m[i, f] = sum over bins a of dimension i and values b of factor f of
        p(a, b) ln(p(a, b) / (p(a) p(b)))
    ```

    The estimate grows with `bins` and shrinks with the number of examples:
    independent codes get about `(bins - 1) (values - 1) / (2 n)` instead of
    0. Compare embeddings with the same bins and examples, or use
    `correction="permutation"`. It subtracts the information of the same codes
    about permuted factors:

    ```
    corrected[i, f] = max(0, m[i, f] - chance[i, f])
        chance[i, f] = mean of m[i, f] over num_permutations orders of the
            rows of `factors`, see `chance_information`
    ```

    All values of a dimension are 0 unless one is significant: the statistic
    `(m[i, f] - chance[i, f]) / (standard deviation over the orders)` must
    exceed a bound. The bound is the mean plus 7 standard deviations of the
    largest statistic over dimensions and factors in permuted orders. Codes
    without information exceed it with a probability of about 1e-4. Miller and
    Madow's correction, which counts the cells that are not empty, is not
    offered: for the random codes tried, it left 16 % to 74 % of the
    information.

    Args:
        codes: `(n, dims)`.
        factors: Integers `(n, num_factors)`.
        bins: Number of bins per dimension, at most 100,000.
        binning: `"uniform"`, bins of equal width between the smallest and the
            largest value (as in the paper), or `"quantile"`, bins of equal
            counts (for codes with outliers, which leave most uniform bins
            empty).
        min_probability: Terms with `p(a, b)` up to this value are left out.
            The authors' code uses `1e-4`, which matters only for more than
            10,000 examples.
        correction: None, the published estimate, or `"permutation"`, which
            subtracts the chance level.
        num_permutations: Number of orders for the correction, at least 20.
        seed: Random seed of the orders; the same seed gives the same result.

    Returns:
        Array `(dims, num_factors)` in nats, between 0 and the entropy of the
        factor. A constant dimension has 0.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong rank or of
            different lengths, or an argument is not as described.

    Reference:
        - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312)

    Example:

    >>> codes = np.array([[0.0, 0.3], [0.1, 0.9], [5.0, 0.3], [5.1, 0.9]])
    >>> factors = np.array([[0, 1], [0, 0], [1, 1], [1, 0]])
    >>> m = embeddings_tf.metrics.mutual_information(codes, factors, bins=2)
    >>> m / np.log(2)  # in bits
    array([[1., 0.],
           [0., 1.]])
    """
    one_of("correction", correction, (None, "permutation"))
    options = (bins, binning, min_probability)
    codes, factors = codes_and_factors(codes, factors)
    binned, values = discrete(codes, factors, *options)
    found = information_table(binned, values, min_probability)
    if correction is None:
        return found
    orders = permuted_information(
        binned, values, min_probability, num_permutations, seed
    )
    chance = np.mean(orders, axis=0)
    # A spread of 0, up to rounding: nothing exceeds chance.
    spread = np.maximum(np.std(orders, axis=0, ddof=1), NOTHING)
    largest = np.max((orders - chance) / spread, axis=(1, 2))
    bound = np.mean(largest) + 7 * np.std(largest, ddof=1)
    tells = np.any((found - chance) / spread > bound, axis=1, keepdims=True)
    return np.where(tells, np.maximum(found - chance, 0.0), 0.0)


def chance_information(
    codes: Any,
    factors: Any,
    bins: int = 20,
    *,
    binning: str = "uniform",
    min_probability: float = 0.0,
    num_permutations: int = 100,
    seed: int = 0,
) -> np.ndarray:
    """Mutual information of the same codes and permuted factors.

    Use it as the chance level of `mutual_information`: the mean estimate for
    codes and factors that are independent.

    Formula:

    ```
    chance = mean over orders of mutual_information(codes, factors[order])
    ```

    The rows of `factors` are permuted as a whole.

    Args:
        codes: `(n, dims)`.
        factors: Integers `(n, num_factors)`.
        bins, binning, min_probability, num_permutations, seed: As in
            `mutual_information`.

    Returns:
        Array `(dims, num_factors)` in nats.

    Raises:
        ValueError: As `mutual_information`.

    Reference:
        - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312), the
          estimate of mutual information

    Example:

    >>> codes = np.random.default_rng(0).normal(size=(500, 1))
    >>> factors = np.arange(500)[:, None] % 5
    >>> embeddings_tf.metrics.chance_information(codes, factors).round(2)
    array([[0.07]])
    """
    codes, factors = codes_and_factors(codes, factors)
    binned, values = discrete(codes, factors, bins, binning, min_probability)
    orders = permuted_information(
        binned, values, min_probability, num_permutations, seed
    )
    return np.mean(orders, axis=0)
