"""Mutual information gap (MIG) of a code."""

from typing import Any

import numpy as np

from embeddings_tf.metrics.binned_information import NOTHING
from embeddings_tf.metrics.binned_information import discrete
from embeddings_tf.metrics.binned_information import information_table
from embeddings_tf.metrics.codes_and_factors import codes_and_factors


def mutual_information_gap(codes: Any, factors: Any, bins: int = 20) -> float:
    """Mutual information gap (MIG): is each factor in one dimension only?

    Use it to compare codes with published numbers. `modularity` asks another
    question: whether each dimension has one factor only.

    Formula, with `m` as in `mutual_information`:

    ```
    gap of f = (largest m[i, f] - second largest m[i, f] over i) / entropy(f)
    MIG = mean over factors f of gap of f
    ```

    Args:
        codes: `(n, dims)`, at least 2 dimensions.
        factors: Integers `(n, num_factors)`.
        bins: Number of bins per dimension, at most 100,000.

    Returns:
        A float in `[0, 1]`: 1 if a single dimension determines each factor, 0
        if two dimensions have equal information about it, or none. Constant
        factors are ignored.

    Raises:
        ValueError: As `mutual_information`, if there is a single dimension, or
            if all factors are constant.

    Reference:
        - [Chen, Li, Grosse & Duvenaud, 2018](https://arxiv.org/abs/1802.04942)
        - [Locatello et al., 2019](https://arxiv.org/abs/1811.12359), whose
          library (disentanglement_lib) has the same 20 uniform bins

    Example:

    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> embeddings_tf.metrics.mutual_information_gap(factors * 0.5, factors)
    1.0
    """
    codes, factors = codes_and_factors(codes, factors)
    if codes.shape[1] < 2:
        raise ValueError(
            "`codes` must have at least 2 dimensions, because the gap compares "
            f"two; received {codes.shape[1]}."
        )
    binned, values = discrete(codes, factors, bins, "uniform", 0.0)
    information = np.sort(information_table(binned, values, 0.0), axis=0)
    shares = [np.bincount(value) / len(value) for value in values]
    entropy = np.array([-np.sum(share * np.log(share)) for share in shares])
    varies = entropy > NOTHING
    if not varies.any():
        raise ValueError("`factors` must vary; received only constant columns.")
    gaps = (information[-1] - information[-2])[varies] / entropy[varies]
    return float(np.clip(np.mean(gaps), 0, 1))
