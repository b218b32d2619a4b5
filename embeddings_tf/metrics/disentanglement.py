"""Which dimension of a code tells which factor of variation."""

import math
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import positive_integer


def mutual_information(
    codes: Any,
    factors: Any,
    bins: int = 20,
    *,
    binning: str = "uniform",
    min_probability: float = 0.0,
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
    0. Compare embeddings by the same bins and examples.

    Reference:

    - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312)

    Args:
        codes: `(n, dims)`.
        factors: Integers `(n, num_factors)`.
        bins: Number of bins per dimension.
        binning: `"uniform"`, bins of equal width between the smallest and
            the largest value (the paper's), or `"quantile"`, bins of equal
            counts (for codes with outliers, which leave few uniform bins
            filled).
        min_probability: Terms with `p(a, b)` up to this value are left out.
            The authors' code uses `1e-4`, which matters for more than 10,000
            examples only.

    Returns:
        Array `(dims, num_factors)` in nats, between 0 and the entropy of the
        factor. A constant dimension has 0.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong rank or of
            different lengths, or `binning` is unknown.

    Example:

    >>> codes = np.array([[0.0, 0.3], [0.1, 0.9], [5.0, 0.3], [5.1, 0.9]])
    >>> factors = np.array([[0, 1], [0, 0], [1, 1], [1, 0]])
    >>> m = embeddings_tf.metrics.mutual_information(codes, factors, bins=2)
    >>> m / np.log(2)  # in bits
    array([[1., 0.],
           [0., 1.]])
    """
    codes, factors = _codes_and_factors(codes, factors)
    bins = positive_integer("bins", bins)
    one_of("binning", binning, ("uniform", "quantile"))
    if not 0 <= min_probability < 1:
        raise ValueError(
            "`min_probability` must be in [0, 1), for instance 0 or 1e-4; "
            f"received {min_probability!r}."
        )
    binned = [_bin(dimension, bins, binning) for dimension in codes.T]
    values = [np.unique(column, return_inverse=True)[1] for column in factors.T]
    return np.array(
        [
            [_information(a, b, bins, min_probability) for b in values]
            for a in binned
        ]
    )


def modularity(
    codes: Any,
    factors: Any,
    bins: int = 20,
    *,
    binning: str = "uniform",
    min_probability: float = 0.0,
) -> float:
    """Whether each dimension of a code tells about one factor at most.

    Use it, beside a measure of what the code knows at all, to compare how
    disentangled codes are; give the value of an untrained encoder beside it,
    which is often high.

    Formula:

    ```
    theta_i = max over f of m[i, f]
    delta_i = sum over f of (m[i, f] - t[i, f])^2 / (theta_i^2 (F - 1))
    modularity = mean over i of 1 - delta_i
    ```

    where `m` is `mutual_information`, `F` the number of factors, and `t[i]`
    is `theta_i` at the factor of the maximum and 0 elsewhere.

    Reference:

    - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312)

    Args:
        codes: `(n, dims)`.
        factors: Integers `(n, num_factors)`, at least 2 factors.
        bins, binning, min_probability: As in `mutual_information`.

    Returns:
        A float in `[0, 1]`: 1 if every dimension tells about one factor
        only, 0 if every dimension tells equally much about all. A dimension
        that tells nothing (for instance a constant one) counts as 0, as in
        disentanglement_lib; in the paper's formula it is 0 / 0.

    Raises:
        ValueError: As `mutual_information`, or if there is a single factor.

    Example:

    >>> codes = np.array([[0.0, 0.3], [0.1, 0.9], [5.0, 0.3], [5.1, 0.9]])
    >>> factors = np.array([[0, 1], [0, 0], [1, 1], [1, 0]])
    >>> embeddings_tf.metrics.modularity(codes, factors, bins=2)
    1.0
    """
    information = mutual_information(
        codes, factors, bins, binning=binning, min_probability=min_probability
    )
    num_factors = information.shape[1]
    if num_factors < 2:
        raise ValueError(
            "`factors` must have at least 2 columns, because modularity "
            f"compares factors; received {num_factors}. Add the other factors."
        )
    theta = np.max(information, axis=1)
    alive = theta > 1e-12  # below: rounding of 0
    theta = np.where(alive, theta, 1.0)
    # All but the maximum; the sum of all squares holds the maximum once.
    others = np.sum((information / theta[:, None]) ** 2, axis=1) - 1
    return float(np.mean(np.where(alive, 1 - others / (num_factors - 1), 0.0)))


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
        step: Step between angles, in degrees.

    Returns:
        A dictionary: `angle`, the best counter-clockwise rotation in degrees
        in `[-45, 45)` (of equals the smallest turn), `aligned_sum` and
        `mutual_information` (`(2, 2)`) at this angle, and
        `unrotated_aligned_sum` and `unrotated_mutual_information` at 0
        degrees, all in nats. `aligned_sum >= unrotated_aligned_sum`, and a
        code without information has angle 0.

    Raises:
        ValueError: As `mutual_information`, if there are not exactly 2
            dimensions and 2 factors, or if `step` is not in `(0, 45]`.

    Example:

    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(0, 5, (1000, 2))
    >>> codes = factors + rng.normal(0, 0.3, (1000, 2))
    >>> turned = codes @ [[0.8, 0.6], [-0.6, 0.8]]  # by 37 degrees
    >>> embeddings_tf.metrics.best_rotation(turned, factors)["angle"]
    -36.0
    """
    codes, factors = _codes_and_factors(codes, factors)
    if codes.shape[1] != 2 or factors.shape[1] != 2:
        raise ValueError(
            "`codes` and `factors` must have 2 columns each; received shapes "
            f"{codes.shape} and {factors.shape}. Select two columns, or use "
            "mutual_information."
        )
    if not 0 < step <= 45:
        raise ValueError(
            f"`step` must be in (0, 45] degrees; received {step!r}."
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


def _codes_and_factors(codes, factors) -> tuple[np.ndarray, np.ndarray]:
    codes = arrays.numbers("codes", codes, 2, "(n, dims)")
    factors = arrays.integers("factors", factors, 2, "(n, num_factors)")
    arrays.same_length(codes=codes, factors=factors)
    return codes.astype(np.float64), factors


def _bin(values: np.ndarray, bins: int, binning: str) -> np.ndarray:
    """Bin of each value; bins are closed below, the last one on both sides."""
    if binning == "uniform":
        edges = np.linspace(np.min(values), np.max(values), bins + 1)
    else:
        edges = np.quantile(values, np.linspace(0, 1, bins + 1))
    return np.searchsorted(edges[1:-1], values, side="right")


def _information(
    a: np.ndarray, b: np.ndarray, bins: int, min_probability: float
) -> float:
    num_values = np.max(b) + 1
    counts = np.bincount(a * num_values + b, minlength=bins * num_values)
    counts = counts.reshape(bins, num_values)
    independent = np.outer(np.sum(counts, axis=1), np.sum(counts, axis=0))
    kept = counts > min_probability * len(a)
    counts, independent = counts[kept], independent[kept]
    # Counts rather than probabilities: exactly 0 for a constant.
    terms = counts / len(a) * np.log(counts * len(a) / independent)
    return max(0.0, float(np.sum(terms)))
