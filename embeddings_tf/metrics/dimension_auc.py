"""How well single dimensions of a code predict factor values."""

from typing import Any

import numpy as np

from embeddings_tf.metrics.codes_and_factors import by_value
from embeddings_tf.metrics.codes_and_factors import codes_and_factors


def single_dimension_auc(codes: Any, factors: Any) -> float:
    """Mean AUC of the best single dimension for each factor value.

    Use it if single dimensions should have a meaning. Unlike `explicitness`, it
    does not combine dimensions. Unlike `modularity`, it allows a dimension to
    describe several factors.

    Formula:

    ```
    a[i, k] = area under the ROC curve of dimension i, value k against the
        other values of its factor
    auc[k] = max over i of max(a[i, k], 1 - a[i, k])
    ```

    The result is the mean over `k`, all values of all factors except redundant
    ones: of the two values of a binary factor only one counts, since both have
    the same area. This is the measure of the workshop paper *Discovering
    Disentangled Representations with the F Statistic Loss*. It counts 17
    non-redundant values of Sprites but does not list them; this definition also
    gives 17.

    A dimension that orders more than two values separates the lowest and the
    highest value, but not the values between. The ideal code therefore has a
    dimension for each value.

    Args:
        codes: `(n, dims)`. Only the order within a dimension matters.
        factors: Integers `(n, num_factors)`.

    Returns:
        A float in `[0.5, 1]`. Constant codes have 0.5. Codes without
        information have more than 0.5; the excess grows with the number of
        dimensions and shrinks with the number of examples. A constant
        dimension has 0.5 for every value. Factors with a single value are
        ignored.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong rank or of
            different lengths, or if every factor has a single value.

    Reference:
        - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312) followed
          the workshop paper.

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
    value. Arguments, omitted values and errors are as in
    `single_dimension_auc`.

    Returns:
        A dictionary of arrays with one entry per value of a factor, factor by
        factor, values ascending, only the higher value of a binary factor:
        `factor` (the column), `value`, `dimension` (the best one, the first if
        several are equal) and `auc`.

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
        # Counts the ordered pairs of an example with the value and one without.
        wins = is_value.T.astype(float) @ ranks - count * (count + 1) / 2
        auc = wins / (count * (len(codes) - count))
        auc = np.maximum(auc, 1 - auc)
        best = np.argmax(auc, axis=1)
        for row, value in enumerate(values):
            found.append((column, value, best[row], auc[row, best[row]]))
    return by_value(found, factors, ("factor", "value", "dimension", "auc"))
