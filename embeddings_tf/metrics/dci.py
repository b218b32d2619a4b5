"""DCI: disentanglement, completeness and informativeness of a code."""

from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.train_and_test_codes import train_and_test_codes
from embeddings_tf.ops.arguments import random_seed

# Squares of this number fit in float64, with sums of many.
_LARGEST_CODE = 1e100
_LARGEST = np.finfo(np.float32).max


def dci(
    codes: Any,
    factors: Any,
    *,
    test_codes: Any = None,
    test_factors: Any = None,
    seed: int = 0,
) -> dict[str, float]:
    """DCI: disentanglement, completeness and informativeness of a code.

    Use it to compare codes with published numbers. Gradient-boosted trees
    predict each factor from the code, and the importances of the dimensions
    tell which dimension is used for which factor. It takes minutes for many
    examples, dimensions and values; 2,000 examples are enough for most uses.

    Formula, with the importance `R[i, f]` of dimension i for factor f, which
    sums to 1 over dimensions, and with entropies to the base of the number of
    terms:

    ```
    disentanglement = sum over i of w_i (1 - entropy over f of R[i, f] / sum)
        w_i = share of dimension i in the sum of R
    completeness = sum over f of v_f (1 - entropy over i of R[i, f] / sum)
        v_f = share of factor f in the sum of R
    informativeness = mean over f of the accuracy on the test examples
    ```

    Disentanglement is 1 if each dimension is used for one factor, completeness
    if each factor uses one dimension. As in disentanglement_lib, the trees are
    scikit-learn's `GradientBoostingClassifier` with its defaults.

    Args:
        codes: `(n, dims)`, at least 2 dimensions.
        factors: Integers `(n, num_factors)`.
        test_codes: `(m, dims)`, codes of other examples to score. None: the
            fitted examples.
        test_factors: Integers `(m, num_factors)`; required with `test_codes`.
        seed: Seed of the trees.

    Returns:
        A dictionary of floats in `[0, 1]`: `disentanglement`, `completeness`,
        `informativeness`, and `informativeness_train`, the accuracy on the
        fitted examples. Constant factors are ignored.

    Raises:
        ValueError: As `separated_attribute_predictability`, or if `seed` is
            not an integer of at least 0.

    Reference:
        - [Eastwood & Williams, 2018](https://openreview.net/forum?id=By-7dz-AZ)
        - [Locatello et al., 2019](https://arxiv.org/abs/1811.12359), the
          authors of disentanglement_lib

    Example:

    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    >>> found = embeddings_tf.metrics.dci(factors * 0.5, factors)
    >>> {name: round(value, 6) for name, value in found.items()}
    {'disentanglement': 1.0, 'completeness': 1.0, 'informativeness': 1.0, \
'informativeness_train': 1.0}
    """
    from sklearn.ensemble import GradientBoostingClassifier

    seed = random_seed("seed", seed, 32)
    codes, factors, test_codes, test_factors = train_and_test_codes(
        codes, factors, test_codes, test_factors, _LARGEST_CODE
    )
    codes, test_codes = _for_trees(codes, test_codes)
    importance, train, test = [], [], []
    for column in range(factors.shape[1]):
        values = factors[:, column]
        if len(np.unique(values)) < 2:
            continue
        trees = GradientBoostingClassifier(random_state=seed)
        trees.fit(codes, values)
        importance.append(trees.feature_importances_)
        train.append(np.mean(trees.predict(codes) == values))
        test.append(
            np.mean(trees.predict(test_codes) == test_factors[:, column])
        )
    by_factor = np.abs(importance)
    return {
        "disentanglement": _one_minus_entropy(by_factor.T),
        "completeness": _one_minus_entropy(by_factor),
        "informativeness": float(np.mean(test)),
        "informativeness_train": float(np.mean(train)),
    }


def _for_trees(codes, test_codes) -> tuple[np.ndarray, np.ndarray]:
    """Standardises dimensions in which float32, the trees' type, merges values.

    Trees depend only on the order of values within a dimension, and on points
    half-way between them.
    """
    both = np.concatenate([codes, test_codes]).astype(np.float64)
    standard, _ = arrays.scaled(both, axis=0)
    standard = standard - standard.mean(axis=0)
    spread = np.abs(standard).max(axis=0)
    standard = standard / np.where(spread > 0, spread, 1)
    for column, other in zip(both.T, standard.T, strict=True):
        is_in_range = np.abs(column).max() <= _LARGEST
        if not is_in_range or _num_values(other) > _num_values(column):
            column[:] = other
    return both[: len(codes)], both[len(codes) :]


def _num_values(column: np.ndarray) -> int:
    return len(np.unique(column.astype(np.float32)))


def _one_minus_entropy(importance: np.ndarray) -> float:
    """Weighted mean over rows of 1 minus the entropy within the row."""
    from scipy.stats import entropy

    if importance.shape[1] == 1:  # a single factor is not confused
        return 1.0
    # As in disentanglement_lib: rows without importance are uniform.
    rows = 1 - entropy(importance + 1e-11, base=importance.shape[1], axis=1)
    total = np.sum(importance, axis=1)
    if not np.any(total):
        return 0.0
    return float(np.clip(np.average(rows, weights=total), 0, 1))
