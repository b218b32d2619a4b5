"""Explicitness: whether a linear classifier recovers the factors."""

from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.codes_and_factors import by_value
from embeddings_tf.metrics.codes_and_factors import fitted_and_test
from embeddings_tf.ops.arguments import one_of

# In standard deviations; their log odds are finite for all weights.
_FURTHEST = 1e100


def explicitness(
    codes: Any,
    factors: Any,
    variant: str = "paper",
    *,
    test_codes: Any = None,
    test_factors: Any = None,
) -> float:
    """Explicitness: how well a linear classifier recovers the factors.

    Use it together with `modularity`: a modular code may lack a factor.
    A logistic regression classifies every value of every factor against all
    other values.

    Formula:

    ```
    p[k] = sigmoid(w_k . code + b_k), fitted for each value k of a factor
    score of k = p[k] / (sum over values of p)
    auc[k] = area under the ROC curve of this score, k against the rest
    ```

    `variant="paper"` follows the authors: almost no regularisation (`C=1e10`),
    and the mean over all values of all factors. `variant="disentanglement_lib"`
    follows that library: `C=1`, codes divided by their standard deviation, a
    regularised intercept, and the mean over the values of each factor, then
    over factors. Both use the solver liblinear, scikit-learn's default at the
    time. The paper's early stopping also averages in the second way, see
    `explicitness_by_value`. The tolerance of the fits is scikit-learn's
    default; a tighter one changes an AUC by about 1e-6, and by about 1e-3 if
    dimensions are nearly linear combinations of each other.

    The authors fit and score on the same examples. This overestimates the
    result, in particular with few examples and many dimensions. Therefore
    disentanglement_lib also reports the value on other examples; here pass
    `test_codes` and `test_factors`.

    Args:
        codes: `(n, dims)`.
        factors: Integers `(n, num_factors)`.
        variant: `"paper"` or `"disentanglement_lib"`.
        test_codes: `(m, dims)`, codes of other examples to score. None: the
            fitted examples.
        test_factors: Integers `(m, num_factors)`; required with `test_codes`.

    Returns:
        A float, 1 if every value can be recognised: by a line between it and
        the other values, or, because of the sum over values, as the remaining
        value (such as the middle of three values on a line). Codes without
        information have 0.5, and more if fitted and scored on the same
        examples. Values that cannot be scored are ignored: the value of a
        constant factor, and with `test_codes` a value that is absent from the
        fitted examples, or that none or all of the scored examples have.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong rank or of
            different lengths, if `variant` is unknown, or if there is no
            value to score.

    Reference:
        - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312)
        - [Locatello et al., 2019](https://arxiv.org/abs/1811.12359), the
          authors of disentanglement_lib

    Example:

    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    >>> embeddings_tf.metrics.explicitness(factors * 0.5, factors)
    1.0
    >>> embeddings_tf.metrics.explicitness(factors[:, :1] * 0.5, factors)
    0.75
    """
    found = explicitness_by_value(
        codes,
        factors,
        variant,
        test_codes=test_codes,
        test_factors=test_factors,
    )
    if variant == "paper":
        return float(np.mean(found["auc"]))
    count = np.bincount(found["factor"])
    means = np.bincount(found["factor"], found["auc"])[count > 0]
    return float(np.mean(means / count[count > 0]))


def explicitness_by_value(
    codes: Any,
    factors: Any,
    variant: str = "paper",
    *,
    test_codes: Any = None,
    test_factors: Any = None,
) -> dict[str, np.ndarray]:
    """Explicitness for each value of each factor.

    Use it to see which factor a code lacks, and to average differently from
    `explicitness`. Arguments, omitted values and errors are as in
    `explicitness`.

    Returns:
        A dictionary of arrays with one entry per value of a factor, factor by
        factor, values ascending: `factor` (the column), `value` and `auc`.

    Reference:

    - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312)

    Example:

    >>> factors = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 5)
    >>> found = embeddings_tf.metrics.explicitness_by_value(
    ...     factors[:, :1] * 0.5, factors
    ... )
    >>> found["factor"], found["value"], found["auc"]
    (array([0, 0, 1, 1]), array([0, 1, 0, 1]), array([1. , 1. , 0.5, 0.5]))
    """
    from sklearn.metrics import roc_auc_score

    codes, factors, test_codes, test_factors = fitted_and_test(
        codes, factors, test_codes, test_factors
    )
    one_of("variant", variant, ("paper", "disentanglement_lib"))
    # Without regularisation the scale of the codes does not matter; a fit in
    # standard units is faster and more precise.
    codes, exponent = arrays.scaled(codes, axis=0)
    mean = np.mean(codes, axis=0)
    unit = np.where(np.ptp(codes, axis=0) > 0, np.std(codes, axis=0), 1)
    with np.errstate(over="ignore"):  # refused below
        test_codes = (np.ldexp(test_codes, -exponent) - mean) / unit
    codes = (codes - mean) / unit
    if np.abs(test_codes).max() > _FURTHEST:
        raise ValueError(
            "`test_codes` must have the scale of `codes`; received a value "
            f"more than {_FURTHEST:g} standard deviations away. Use the same "
            "encoder for both."
        )
    found = []
    for column in range(factors.shape[1]):
        values = np.unique(factors[:, column])
        if len(values) < 2:
            continue
        scores = _one_against_rest(
            codes,
            factors[:, column],
            values,
            test_codes,
            regularisation=1e10 if variant == "paper" else 1.0,
        )
        for value, score in zip(values, scores, strict=True):
            is_value = test_factors[:, column] == value
            if is_value.any() and not is_value.all():
                auc = roc_auc_score(is_value, score)
                found.append((column, value, auc))
    return by_value(found, factors, ("factor", "value", "auc"))


def _one_against_rest(
    codes: np.ndarray,
    factor: np.ndarray,
    values: np.ndarray,
    test_codes: np.ndarray,
    regularisation: float,
) -> list[np.ndarray]:
    """Returns log odds of each value, one array per value.

    They have the order of the probabilities `p[k] / sum(p)`, but stay distinct
    where the probabilities round to 0 or 1.
    """
    from sklearn.linear_model import LogisticRegression

    def fit(value):
        classifier = LogisticRegression(C=regularisation, solver="liblinear")
        classifier.fit(codes, factor == value)
        return classifier.decision_function(test_codes)

    if len(values) == 2:
        odds = fit(values[1])
        return [-odds, odds]
    log_p = -np.logaddexp(0, [-fit(value) for value in values])
    nothing = np.full((1, len(test_codes)), -np.inf)
    below = np.logaddexp.accumulate(log_p[:-1])
    above = np.logaddexp.accumulate(log_p[:0:-1])[::-1]
    rest = np.logaddexp(
        np.concatenate([nothing, below]), np.concatenate([above, nothing])
    )
    return list(log_p - rest)
