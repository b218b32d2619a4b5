"""Best rotation of a code towards the factors."""

import math
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.binned_information import NOTHING
from embeddings_tf.metrics.codes_and_factors import codes_and_factors
from embeddings_tf.metrics.information import mutual_information
from embeddings_tf.ops.arguments import number_at_least


def best_rotation(
    codes: Any,
    factors: Any,
    bins: int = 20,
    step: float = 3.0,
    *,
    binning: str = "uniform",
) -> dict[str, Any]:
    """Rotation of a 2-D code that best aligns its axes with two factors.

    Use it to see whether the axes of a code are the factors, or whether the
    code contains the factors at another angle. The code is rotated by every
    multiple of `step` degrees in `[-45, 45)`; larger angles only swap or mirror
    axes. If the groups of a code are tight, several neighbouring angles are
    equally good: compare the aligned sums, not the angle alone.

    Formula:

    ```
    aligned sum = max(m[0, 0] + m[1, 1], m[0, 1] + m[1, 0])
    ```

    where `m` is `mutual_information` of the rotated code.

    Args:
        codes: `(n, 2)`.
        factors: Integers `(n, 2)`.
        bins, binning: As in `mutual_information`.
        step: Step between angles, in degrees, from 0.001 to 45.

    Returns:
        A dictionary: `angle`, the best counter-clockwise rotation in degrees
        in `[-45, 45)` (the smallest of equally good ones), `aligned_sum` and
        `mutual_information` (`(2, 2)`) at this angle, and
        `unrotated_aligned_sum` and `unrotated_mutual_information` at 0
        degrees, all in nats. `aligned_sum >= unrotated_aligned_sum`, and a
        code without information has angle 0.

    Raises:
        ValueError: As `mutual_information`, if there are not exactly 2
            dimensions and 2 factors, or if `step` is not in `[0.001, 45]`.

    Reference:
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702) on
          axis-aligned codes; the measure is ours.

    Example:

    >>> rng = np.random.default_rng(0)
    >>> factors = rng.integers(0, 5, (1000, 2))
    >>> codes = factors + rng.normal(0, 0.3, (1000, 2))
    >>> turned = codes @ [[0.8, 0.6], [-0.6, 0.8]]  # by 37 degrees
    >>> embeddings_tf.metrics.best_rotation(turned, factors)["angle"]
    -36.0
    """
    codes, factors = codes_and_factors(codes, factors)
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
    # The first of values that are equal but for rounding; angles are sorted by
    # size.
    top = max(_aligned_sum(found) for found, _ in tried) - NOTHING
    best, angle = next(
        trial for trial in tried if _aligned_sum(trial[0]) >= top
    )
    return {
        "angle": angle,
        "aligned_sum": _aligned_sum(best),
        "mutual_information": best,
        "unrotated_aligned_sum": _aligned_sum(unrotated),
        "unrotated_mutual_information": unrotated,
    }


def _angles(step: float) -> list[float]:
    """Returns multiples of step in [-45, 45), 0 first."""
    count = math.floor(45 / step)
    multiples = [float(number * step) for number in range(-count, count + 1)]
    return sorted((angle for angle in multiples if angle < 45), key=abs)


def _rotated_information(codes, factors, angle, bins, binning) -> np.ndarray:
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    rotated = codes @ np.array([[cos, sin], [-sin, cos]])
    return mutual_information(rotated, factors, bins, binning=binning)


def _aligned_sum(information: np.ndarray) -> float:
    return float(max(np.trace(information), np.trace(information[::-1])))
