"""Whether single dimensions of a code tell the values of factors."""

from typing import Any

import numpy as np

from embeddings_tf.metrics.codes_and_factors import by_value
from embeddings_tf.metrics.codes_and_factors import codes_and_factors


def single_dimension_auc(codes: Any, factors: Any) -> float:
    """Mean AUC of the best single dimension for each factor value.

    Use it where single dimensions should mean something. Unlike
    `explicitness` it does not combine dimensions. Unlike `modularity` it
    allows a dimension to describe several factors.

    Formula:

    ```
    a[i, k] = area under the ROC curve of dimension i, value k against the
        other values of its factor
    auc[k] = max over i of max(a[i, k], 1 - a[i, k])
    ```

    and the mean over `k`, all values of all factors but the redundant: of a
    factor with two values one, since the other has the same area. This is the
    measure of the workshop paper, *Discovering Disentangled Representations
    with the F Statistic Loss*, which calls 17 of the values of Sprites
    non-redundant but does not say which; this reading gives 17.

    A dimension that orders more than two values tells the lowest and the
    highest, but not those between: the ideal code has a dimension for each
    value.

    Reference:

    - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312) followed the
      workshop paper.

    Args:
        codes: `(n, dims)`. Only the order within a dimension matters.
        factors: Integers `(n, num_factors)`.

    Returns:
        A float in `[0.5, 1]`. Constant codes have 0.5; codes that say nothing
        have more, the more so the more dimensions there are to choose from
        and the fewer the examples. A constant dimension has 0.5 for every
        value, and a factor with a single value is left out.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong rank or of
            different lengths, or if every factor has a single value.

    Example:

    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    >>> embeddings_tf.metrics.single_dimension_auc(-factors * 0.5, factors)
    1.0
    >>> turned = factors @ [[1, 1], [-1, 1]] * 0.5
    >>> embeddings_tf.metrics.single_dimension_auc(turned, factors)
    0.875
    """
    return float(np.mean(single_dimension_auc_by_value(codes, factors)["auc"]))


def single_dimension_auc_by_value(
    codes: Any, factors: Any
) -> dict[str, np.ndarray]:
    """The best dimension for each factor value, and its AUC.

    Use it for the distribution over values, and to find the dimension of a
    value. Arguments, omitted values and errors are those of
    `single_dimension_auc`.

    Returns:
        A dictionary of arrays with one entry per value of a factor, factor by
        factor, values ascending, of two values only the higher: `factor` (the
        column), `value`, `dimension` (the best, of equals the first) and
        `auc`.

    Reference:

    - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312)

    Example:

    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    >>> found = embeddings_tf.metrics.single_dimension_auc_by_value(
    ...     factors[:, ::-1] * 0.5, factors
    ... )
    >>> found["factor"], found["value"], found["dimension"], found["auc"]
    (array([0, 1]), array([1, 1]), array([1, 0]), array([1., 1.]))
    """
    from scipy.stats import rankdata

    codes, factors = codes_and_factors(codes, factors, ordered=True)
    ranks = rankdata(codes, axis=0)
    found = []
    for column in range(factors.shape[1]):
        values = np.unique(factors[:, column])
        if len(values) <= 2:
            values = values[1:]
        is_value = factors[:, column, None] == values
        count = np.sum(is_value, axis=0)[:, None]
        # How many pairs of one with the value and one without are in order.
        wins = is_value.T.astype(float) @ ranks - count * (count + 1) / 2
        auc = wins / (count * (len(codes) - count))
        auc = np.maximum(auc, 1 - auc)
        best = np.argmax(auc, axis=1)
        for row, value in enumerate(values):
            found.append((column, value, best[row], auc[row, best[row]]))
    return by_value(found, factors, ("factor", "value", "dimension", "auc"))
