"""Which dimension of a code tells which factor of variation."""

import math
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import positive_integer

# Rounding of 0, in nats.
_NOTHING = 1e-12
_MOST_BINS = 100_000
# In standard deviations; log odds of it are finite, whatever the weights.
_FURTHEST = 1e100


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
    """Information that each dimension of a code has about each factor.

    Use it to see which dimension tells which factor, and as the basis of
    `modularity`. Each dimension is cut into bins.

    Formula:

    ```
    m[i, f] = sum over bins a of dimension i and values b of factor f of
        p(a, b) ln(p(a, b) / (p(a) p(b)))
    ```

    The estimate grows with `bins` and shrinks with the number of examples:
    independent codes get about `(bins - 1) (values - 1) / (2 n)` rather than
    0. Compare embeddings by the same bins and examples, or use
    `correction="permutation"`, which subtracts what the same codes tell
    about permuted factors:

    ```
    corrected[i, f] = max(0, m[i, f] - chance[i, f])
        chance[i, f] = mean of m[i, f] over num_permutations orders of the
            rows of `factors`, see `chance_information`
    ```

    and 0 for all factors of a dimension unless some
    `(m[i, f] - chance[i, f]) / (standard deviation over the orders)` lies
    7 standard deviations above the mean of its largest value, over
    dimensions and factors, in a permuted order. Codes that tell nothing pass
    this bound with a probability of about 1e-4. Miller and Madow's
    correction, which counts the cells that are not empty, is not offered: on
    the sets of random codes tried, it left 16 % to 74 % of the information.

    Reference:

    - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312)

    Args:
        codes: `(n, dims)`.
        factors: Integers `(n, num_factors)`.
        bins: Number of bins per dimension, at most 100,000.
        binning: `"uniform"`, bins of equal width between the smallest and
            the largest value (the paper's), or `"quantile"`, bins of equal
            counts (for codes with outliers, which leave few uniform bins
            filled).
        min_probability: Terms with `p(a, b)` up to this value are left out.
            The authors' code uses `1e-4`, which matters for more than 10,000
            examples only.
        correction: None, the published estimate, or `"permutation"`, what is
            left of it beyond chance.
        num_permutations: Orders drawn by the correction, at least 20.
        seed: Draws the orders; the same seed gives the same result.

    Returns:
        Array `(dims, num_factors)` in nats, between 0 and the entropy of the
        factor. A constant dimension has 0.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong rank or of
            different lengths, or an argument is not of the kind above.

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
    codes, factors = _codes_and_factors(codes, factors)
    binned, values = _discrete(codes, factors, *options)
    found = _information(binned, values, min_probability)
    if correction is None:
        return found
    orders = _permuted_information(
        binned, values, min_probability, num_permutations, seed
    )
    chance = np.mean(orders, axis=0)
    # A spread of 0, or of rounding only: nothing to tell from chance.
    spread = np.maximum(np.std(orders, axis=0, ddof=1), _NOTHING)
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
    """Information that the same codes have about permuted factors.

    Use it as the floor of `mutual_information`: what the estimate is, on
    average, where codes and factors have nothing to do with each other.

    Formula:

    ```
    chance = mean over orders of mutual_information(codes, factors[order])
    ```

    The rows of `factors` are permuted as a whole.

    Reference:

    - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312), the estimate
      whose floor this is

    Args:
        codes: `(n, dims)`.
        factors: Integers `(n, num_factors)`.
        bins, binning, min_probability, num_permutations, seed: As in
            `mutual_information`.

    Returns:
        Array `(dims, num_factors)` in nats.

    Raises:
        ValueError: As `mutual_information`.

    Example:

    >>> codes = np.random.default_rng(0).normal(size=(500, 1))
    >>> factors = np.arange(500)[:, None] % 5
    >>> embeddings_tf.metrics.chance_information(codes, factors).round(2)
    array([[0.07]])
    """
    codes, factors = _codes_and_factors(codes, factors)
    binned, values = _discrete(codes, factors, bins, binning, min_probability)
    orders = _permuted_information(
        binned, values, min_probability, num_permutations, seed
    )
    return np.mean(orders, axis=0)


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
    """Whether each dimension of a code tells about one factor at most.

    Use it, beside a measure of what the code knows at all, to compare how
    disentangled codes are. Read the corrected form,
    `correction="permutation"`; the published one, the default, is for
    comparison with published numbers. It flatters noise: random codes reach
    0.98 where factors differ in their number of values, because each
    dimension seems to tell most about the factor with the most values.

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

    so a dimension that tells nothing beyond chance has weight 0. Miller and
    Madow's correction is not offered: on random codes, modularity stays as
    high with it as without.

    Reference:

    - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312); the
      correction is ours

    Args:
        codes: `(n, dims)`.
        factors: Integers `(n, num_factors)`, at least 2 factors.
        bins, binning, min_probability, correction, num_permutations, seed:
            As in `mutual_information`.

    Returns:
        A float in `[0, 1]`: 1 if every dimension tells about one factor
        only, 0 if every dimension tells equally much about all. Without a
        correction, a dimension that tells nothing (for instance a constant
        one) counts as 0, as in disentanglement_lib; in the paper's formula it
        is 0 / 0. With the correction it does not count, and a code of which
        no dimension tells anything has 0.

    Raises:
        ValueError: As `mutual_information`, or if there is a single factor.

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
    num_factors = information.shape[1]
    if num_factors < 2:
        raise ValueError(
            "`factors` must have at least 2 columns, because modularity "
            f"compares factors; received {num_factors}. Add the other factors."
        )
    theta = np.max(information, axis=1)
    alive = theta > _NOTHING
    if not alive.any():
        return 0.0
    theta = np.where(alive, theta, 1.0)
    # All but the maximum; the sum of all squares holds the maximum once.
    others = np.sum((information / theta[:, None]) ** 2, axis=1) - 1
    scores = np.where(alive, 1 - others / (num_factors - 1), 0.0)
    if correction is None:
        return float(np.mean(scores))
    return float(np.average(scores, weights=np.sum(information, axis=1)))


def explicitness(
    codes: Any,
    factors: Any,
    variant: str = "paper",
    *,
    test_codes: Any = None,
    test_factors: Any = None,
) -> float:
    """Whether the factors can be read off the whole code linearly.

    Use it beside `modularity`: a code may be modular and yet not tell every
    factor. Every value of every factor is told from the other values by
    logistic regression, one against the rest.

    Formula:

    ```
    p[k] = sigmoid(w_k . code + b_k), fitted for each value k of a factor
    score of k = p[k] / (sum over values of p)
    auc[k] = area under the ROC curve of this score, k against the rest
    ```

    `variant="paper"`, the authors': practically no regularisation (`C=1e10`);
    the mean over all values of all factors. `variant="disentanglement_lib"`:
    that library's, with `C=1`, the codes divided by their standard deviation,
    and the intercept regularised as well (scikit-learn's default solver then
    was liblinear, which both variants use here); the mean over the values of
    each factor, then over factors. The paper's early stopping averages in
    this way too, see `explicitness_by_value`. The tolerance of the fits is
    scikit-learn's default; a tighter one changes an AUC by about 1e-6, and by
    about 1e-3 where dimensions are nearly linear combinations of each other.

    The authors fit and score on the same examples. This flatters the code,
    the more so the fewer the examples and the more the dimensions:
    disentanglement_lib also reports the value on other examples, here
    `test_codes` and `test_factors`.

    Reference:

    - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312)
    - [Locatello et al., 2019](https://arxiv.org/abs/1811.12359), the authors
      of disentanglement_lib

    Args:
        codes: `(n, dims)`.
        factors: Integers `(n, num_factors)`.
        variant: `"paper"` or `"disentanglement_lib"`.
        test_codes: `(m, dims)`, codes of other examples to score. None: the
            same that are fitted.
        test_factors: Integers `(m, num_factors)`; required with `test_codes`.

    Returns:
        A float, 1 if every value can be told: by a line between it and the
        others, or, thanks to the sum over values, by being what the others
        leave, as the middle of three values on a line. Codes that say nothing
        have 0.5, and more if fitted and scored on the same examples. What
        cannot be scored is left out: a factor with a single value, and
        with `test_codes` a value that is absent from the fitted examples, or
        that none or all of the scored ones have.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong rank or of
            different lengths, if `variant` is unknown, or if there is no
            value to score.

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
    """How well each value of each factor can be read off the whole code.

    Use it to see which factor a code does not tell, and for other means than
    those of `explicitness`. Arguments, what is left out and errors are those
    of `explicitness`.

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

    codes, factors = _codes_and_factors(codes, factors)
    one_of("variant", variant, ("paper", "disentanglement_lib"))
    if (test_codes is None) != (test_factors is None):
        raise ValueError(
            "`test_codes` and `test_factors` must be passed together; received "
            "only one of them. Leave out both to score what is fitted."
        )
    if test_codes is None:
        test_codes, test_factors = codes, factors
    else:
        test_codes, test_factors = _codes_and_factors(
            test_codes, test_factors, "test_"
        )
        _same_columns(codes=codes, test_codes=test_codes)
        _same_columns(factors=factors, test_factors=test_factors)
    # Without regularisation the units of the codes do not matter; a fit in
    # standard units is quicker and more precise.
    codes, exponent = arrays.scaled(codes, axis=0)
    mean = np.mean(codes, axis=0)
    unit = np.where(np.ptp(codes, axis=0) > 0, np.std(codes, axis=0), 1)
    with np.errstate(over="ignore"):  # refused below
        test_codes = (np.ldexp(test_codes, -exponent) - mean) / unit
    codes = (codes - mean) / unit
    if np.abs(test_codes).max() > _FURTHEST:
        raise ValueError(
            "`test_codes` must be of the scale of `codes`; received a value "
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
    return _table(found, factors, ("factor", "value", "auc"))


def _one_against_rest(
    codes: np.ndarray,
    factor: np.ndarray,
    values: np.ndarray,
    test_codes: np.ndarray,
    regularisation: float,
) -> list[np.ndarray]:
    """Log odds of each value, one array for each.

    They rank like the probabilities `p[k] / sum(p)`, but do not run together
    where these round to 0 or 1.
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


def single_dimension_auc(codes: Any, factors: Any) -> float:
    """Whether each value of each factor has a dimension that tells it.

    Use it where single dimensions shall have a meaning: unlike `explicitness`
    it allows no mixture of dimensions, and unlike `modularity` it does not
    mind if a dimension tells several factors.

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
    """The dimension that best tells each value of each factor, and how well.

    Use it for the distribution over values, and to see which dimension to
    look at. Arguments, what is left out and errors are those of
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
    codes, factors = _codes_and_factors(codes, factors, ordered=True)
    ranks = _ranks(codes)
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
    return _table(found, factors, ("factor", "value", "dimension", "auc"))


def _ranks(codes: np.ndarray) -> np.ndarray:
    """1 to n within each dimension; equals have the mean of their ranks."""
    order = np.argsort(codes, axis=0)
    ascending = np.take_along_axis(codes, order, axis=0)
    place = np.arange(len(codes))[:, None]
    new = np.ones(codes.shape, bool)
    new[1:] = ascending[1:] != ascending[:-1]
    last = np.roll(new, -1, axis=0)
    first_place = np.maximum.accumulate(np.where(new, place, 0), axis=0)
    last_place = np.minimum.accumulate(
        np.where(last, place, len(codes))[::-1], axis=0
    )[::-1]
    ranks = np.empty(codes.shape)
    np.put_along_axis(ranks, order, (first_place + last_place) / 2 + 1, axis=0)
    return ranks


def _table(
    rows: list[tuple], factors: np.ndarray, names: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """Columns of `rows` by name."""
    if not rows:
        raise ValueError(
            "`factors` must have a value to tell from others; received "
            f"{factors.shape[1]} columns that are constant, or whose values "
            "are not in the examples to score. Pass more various examples."
        )
    return {
        name: np.array(column)
        for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }


def best_rotation(
    codes: Any,
    factors: Any,
    bins: int = 20,
    step: float = 3.0,
    *,
    binning: str = "uniform",
) -> dict[str, Any]:
    """Rotation of a 2-D code that best aligns its axes with two factors.

    Use it to tell a code that found the factors but at an arbitrary angle
    from one whose axes are the factors. The code is turned by every multiple
    of `step` degrees in `[-45, 45)`; a larger angle only swaps or mirrors
    axes. If the groups of a code are tight, several neighbouring angles are
    equally good: judge by the aligned sums rather than by the angle alone.

    Formula:

    ```
    aligned sum = max(m[0, 0] + m[1, 1], m[0, 1] + m[1, 0])
    ```

    where `m` is `mutual_information` of the rotated code.

    Reference:

    - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702) on
      axis-aligned codes; the measure is ours.

    Args:
        codes: `(n, 2)`.
        factors: Integers `(n, 2)`.
        bins, binning: As in `mutual_information`.
        step: Step between angles, in degrees, from 0.001 to 45.

    Returns:
        A dictionary: `angle`, the best counter-clockwise rotation in degrees
        in `[-45, 45)` (of equals the smallest turn), `aligned_sum` and
        `mutual_information` (`(2, 2)`) at this angle, and
        `unrotated_aligned_sum` and `unrotated_mutual_information` at 0
        degrees, all in nats. `aligned_sum >= unrotated_aligned_sum`, and a
        code without information has angle 0.

    Raises:
        ValueError: As `mutual_information`, if there are not exactly 2
            dimensions and 2 factors, or if `step` is not in `[0.001, 45]`.

    Example:

    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(0, 5, (1000, 2))
    >>> codes = factors + rng.normal(0, 0.3, (1000, 2))
    >>> turned = codes @ [[0.8, 0.6], [-0.6, 0.8]]  # by 37 degrees
    >>> embeddings_tf.metrics.best_rotation(turned, factors)["angle"]
    -36.0
    """
    codes, factors = _codes_and_factors(codes, factors)
    codes, _ = arrays.scaled(codes)
    if codes.shape[1] != 2 or factors.shape[1] != 2:
        raise ValueError(
            "`codes` and `factors` must have 2 columns each; received shapes "
            f"{codes.shape} and {factors.shape}. Select two columns, or use "
            "mutual_information."
        )
    if not 1e-3 <= number_at_least("step", step, 0) <= 45:
        raise ValueError(
            f"`step` must be in [0.001, 45] degrees; received {step!r}."
        )
    tried = [
        (_rotated_information(codes, factors, angle, bins, binning), angle)
        for angle in _angles(step)
    ]
    unrotated = tried[0][0]
    # The first of equals: angles come by the size of the turn.
    best, angle = max(tried, key=lambda trial: _aligned_sum(trial[0]))
    return {
        "angle": angle,
        "aligned_sum": _aligned_sum(best),
        "mutual_information": best,
        "unrotated_aligned_sum": _aligned_sum(unrotated),
        "unrotated_mutual_information": unrotated,
    }


def _angles(step: float) -> list[float]:
    """Multiples of step in [-45, 45), 0 first."""
    count = math.floor(45 / step)
    multiples = [float(number * step) for number in range(-count, count + 1)]
    return sorted((angle for angle in multiples if angle < 45), key=abs)


def _rotated_information(codes, factors, angle, bins, binning) -> np.ndarray:
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    rotated = codes @ np.array([[cos, sin], [-sin, cos]])
    return mutual_information(rotated, factors, bins, binning=binning)


def _aligned_sum(information: np.ndarray) -> float:
    return float(max(np.trace(information), np.trace(information[::-1])))


def _codes_and_factors(
    codes, factors, prefix="", ordered=False
) -> tuple[np.ndarray, np.ndarray]:
    names = prefix + "codes", prefix + "factors"
    codes = arrays.numbers(names[0], codes, 2, "(n, dims)", ordered=ordered)
    factors = arrays.integers(names[1], factors, 2, "(n, num_factors)")
    arrays.same_length(**dict(zip(names, (codes, factors), strict=True)))
    return codes if ordered else codes.astype(np.float64), factors


def _same_columns(**arrays_by_name: np.ndarray) -> None:
    (name, fitted), (test_name, scored) = arrays_by_name.items()
    if fitted.shape[1] != scored.shape[1]:
        raise ValueError(
            f"`{name}` and `{test_name}` must have the same columns; received "
            f"{fitted.shape[1]} and {scored.shape[1]}. Use the same encoder "
            "and factors for both."
        )


def _bin(values: np.ndarray, bins: int, binning: str) -> np.ndarray:
    """Bin of each value; bins are closed below, the last one on both sides."""
    if binning == "uniform":
        edges = np.linspace(np.min(values), np.max(values), bins + 1)
    else:
        edges = np.quantile(values, np.linspace(0, 1, bins + 1))
    return np.searchsorted(edges[1:-1], values, side="right")


def _discrete(
    codes: np.ndarray,
    factors: np.ndarray,
    bins: int,
    binning: str,
    min_probability: float,
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Dimensions and factors, their bins and values numbered from 0."""
    bins = positive_integer("bins", bins)
    if bins > _MOST_BINS:
        raise ValueError(
            f"`bins` must be at most {_MOST_BINS:,}; received {bins}. More "
            "bins than examples tell nothing."
        )
    one_of("binning", binning, ("uniform", "quantile"))
    if not 0 <= number_at_least("min_probability", min_probability, 0) < 1:
        raise ValueError(
            "`min_probability` must be in [0, 1), for instance 0 or 1e-4; "
            f"received {min_probability!r}."
        )
    codes, _ = arrays.scaled(codes, axis=0)
    columns = (
        [_bin(dimension, bins, binning) for dimension in codes.T],
        factors.T,
    )
    return tuple(
        [np.unique(column, return_inverse=True)[1] for column in part]
        for part in columns
    )


def _information(
    binned: list[np.ndarray], values: list[np.ndarray], min_probability: float
) -> np.ndarray:
    """`(dims, num_factors)`, in nats."""
    return np.array(
        [
            [_information_of_pair(a, b, min_probability) for b in values]
            for a in binned
        ]
    )


def _permuted_information(
    binned: list[np.ndarray],
    values: list[np.ndarray],
    min_probability: float,
    num_permutations: int,
    seed: int,
) -> np.ndarray:
    """`(num_permutations, dims, num_factors)`, factors permuted by rows."""
    if positive_integer("num_permutations", num_permutations) < 20:
        raise ValueError(
            "`num_permutations` must be at least 20, to estimate chance and "
            f"its spread; received {num_permutations}."
        )
    rng = arrays.generator(seed)
    orders = (rng.permutation(len(values[0])) for _ in range(num_permutations))
    return np.stack(
        [
            _information(binned, [v[order] for v in values], min_probability)
            for order in orders
        ]
    )


def _information_of_pair(
    a: np.ndarray, b: np.ndarray, min_probability: float
) -> float:
    num_bins, num_values = np.max(a) + 1, np.max(b) + 1
    counts = np.bincount(a * num_values + b, minlength=num_bins * num_values)
    counts = counts.reshape(num_bins, num_values)
    independent = np.outer(np.sum(counts, axis=1), np.sum(counts, axis=0))
    kept = counts > min_probability * len(a)
    counts, independent = counts[kept], independent[kept]
    # Counts rather than probabilities: exactly 0 for a constant.
    terms = counts / len(a) * np.log(counts * len(a) / independent)
    return max(0.0, float(np.sum(terms)))
