"""Modularity: whether each dimension of a code describes one factor."""

from typing import Any

import numpy as np

from embeddings_tf.metrics.binned_information import NOTHING
from embeddings_tf.metrics.information import mutual_information


def modularity(
    codes: Any,
    factors: Any,
    bins: int = 20,
    *,
    binning: str = "uniform",
    min_probability: float = 0.0,
    correction: str | None = None,
    num_permutations: int = 100,
    seed: int = 0,
) -> float:
    """Modularity: whether each dimension describes at most one factor.

    Use it together with `explicitness` to compare how disentangled codes are.
    Prefer the corrected form, `correction="permutation"`. The default is the
    published form, for comparison with published numbers. The published form
    favours noise: random codes reach 0.98 if factors differ in their number of
    values, because each dimension seems to have most information about the
    factor with the most values.

    Formula:

    ```
    theta_i = max over f of m[i, f]
    delta_i = sum over f of (m[i, f] - t[i, f])^2 / (theta_i^2 (F - 1))
    modularity = mean over i of 1 - delta_i
    ```

    where `m` is `mutual_information`, `F` the number of factors, and `t[i]`
    is `theta_i` at the factor of the maximum and 0 elsewhere. With
    `correction="permutation"`, `m` is the corrected information, and the
    mean is weighted by it:

    ```
    modularity = sum over i of w_i (1 - delta_i) / sum over i of w_i
        w_i = sum over f of m[i, f]
    ```

    A dimension without information beyond chance has weight 0. Miller and
    Madow's correction is not offered, because random codes have an equally
    high modularity with it.

    Args:
        codes: `(n, dims)`.
        factors: Integers `(n, num_factors)`, at least 2 factors with several
            values. A factor with one value is left out.
        bins, binning, min_probability, correction, num_permutations, seed:
            As in `mutual_information`.

    Returns:
        A float in `[0, 1]`: 1 if every dimension describes only one factor, 0
        if every dimension describes all factors equally. Without a
        correction, a dimension without information (for instance a constant)
        counts as 0, as in disentanglement_lib; in the paper's formula it is
        0 / 0. With the correction it does not count, and a code without any
        information has modularity 0.

    Raises:
        ValueError: As `mutual_information`, or if fewer than two factors have
            several values.

    Reference:
        - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312); the
          correction is ours

    Example:

    >>> codes = np.array([[0.0, 0.3], [0.1, 0.9], [5.0, 0.3], [5.1, 0.9]])
    >>> factors = np.array([[0, 1], [0, 0], [1, 1], [1, 0]])
    >>> embeddings_tf.metrics.modularity(codes, factors, bins=2)
    1.0
    """
    information = mutual_information(
        codes,
        factors,
        bins,
        binning=binning,
        min_probability=min_probability,
        correction=correction,
        num_permutations=num_permutations,
        seed=seed,
    )
    # A factor with one value has no information, and would raise the mean.
    varies = [len(np.unique(column)) > 1 for column in np.asarray(factors).T]
    information = information[:, varies]
    num_factors = information.shape[1]
    if num_factors < 2:
        raise ValueError(
            "`factors` must have at least 2 columns with different values, "
            f"because modularity compares factors; received {num_factors}. Add "
            "the other factors, or examples with other values."
        )
    theta = np.max(information, axis=1)
    alive = theta > NOTHING
    if not alive.any():
        return 0.0
    theta = np.where(alive, theta, 1.0)
    # All but the maximum; the sum of all squares includes the maximum once.
    others = np.sum((information / theta[:, None]) ** 2, axis=1) - 1
    scores = np.where(alive, 1 - others / (num_factors - 1), 0.0)
    if correction is None:
        return float(np.mean(scores))
    return float(np.average(scores, weights=np.sum(information, axis=1)))
