"""Cosines of embeddings as scores, also fused with a probability."""

from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.score_calls import two_sides
from embeddings_tf.ops import arguments


def cosine_scores(first: Any, second: Any) -> np.ndarray:
    """Cosine of each row of `first` with each row of `second`.

    Use it for embeddings that were trained with cosines or normalised, and as
    a score that needs no training.

    Formula:

    ```
    cos(a, b) = a . b / (|a| |b|)
    ```

    Args:
        first: `(m, dim)`, of any scale.
        second: `(n, dim)`.

    Returns:
        `(m, n)` in `[-1, 1]`, float32 if both are, else float64. A row of
        zeros has cosine 0 with all rows.

    Raises:
        ValueError: If arrays are empty, not finite, not of rank 2 or of
            different `dim`.

    Example:

    >>> embeddings = [[0.0, 2.0], [3.0, 0.0]]
    >>> embeddings_tf.metrics.cosine_scores([[1.0, 0.0]], embeddings)
    array([[0., 1.]])
    """
    first, second = two_sides(first, second)
    return np.clip(_unit(first) @ _unit(second).T, -1, 1)


def cosine_score_pairs(first: Any, second: Any) -> np.ndarray:
    """Cosine of row i of `first` with row i of `second`.

    Use it with `score_trials`. Formula and range are as in `cosine_scores`.

    Args:
        first, second: `(n, dim)`.

    Returns:
        `(n,)` in `[-1, 1]`.

    Raises:
        ValueError: As `cosine_scores`, or if the lengths differ.

    Example:

    >>> embeddings_tf.metrics.cosine_score_pairs([[3.0, 4.0]], [[4.0, 3.0]])
    array([0.96])
    """
    first, second = two_sides(first, second)
    arrays.same_length(first=first, second=second)
    cosines = np.einsum("nd,nd->n", _unit(first), _unit(second))
    return np.clip(cosines, -1, 1)


def fuse_scores(probability: Any, cosine: Any) -> np.ndarray:
    """Mean of a learned probability and a rescaled cosine, both in [0, 1].

    Use it to combine a learned distance with the cosine of its embeddings
    ("cosine + E2E" in the paper).

    Formula:

    ```
    (probability + (cosine + 1) / 2) / 2
    ```

    Args:
        probability: Same-class probabilities, `(n,)` or `(m, n)`: the sigmoid
            of the logits of `layers.PairDistance`.
        cosine: In `[-1, 1]`, same shape.

    Returns:
        The same shape, in `[0, 1]`.

    Raises:
        ValueError: If shapes differ, or values are out of range, for example
            because they are logits.

    Reference:
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Tables 1
          and 2; formula from the authors' code

    Example:

    >>> embeddings_tf.metrics.fuse_scores([0.9, 0.1], [1.0, 0.0])
    array([0.95, 0.3 ])
    """
    shape = "(n,) or (m, n)"
    probability = arguments.array("probability", probability)
    ndim = 2 if probability.ndim == 2 else 1
    probability = arrays.numbers("probability", probability, ndim, shape)
    cosine = arrays.numbers("cosine", cosine, ndim, shape)
    if probability.shape != cosine.shape:
        raise ValueError(
            "`probability` and `cosine` must have one shape, for the same "
            f"trials; received {probability.shape} and {cosine.shape}."
        )
    if not np.all((probability >= 0) & (probability <= 1)):
        raise ValueError(
            "`probability` must be between 0 and 1; received values from "
            f"{np.min(probability)} to {np.max(probability)}. Pass the sigmoid "
            "of a logit."
        )
    if not np.all(np.abs(cosine) <= 1):
        raise ValueError(
            "`cosine` must be between -1 and 1; received values from "
            f"{np.min(cosine)} to {np.max(cosine)}. Pass `cosine_scores`."
        )
    return (probability + (cosine + 1) / 2) / 2


def _unit(x: np.ndarray) -> np.ndarray:
    """Scales rows of any size to length 1; rows of zeros stay zero."""
    largest = np.max(np.abs(x), axis=1, keepdims=True)
    x = x / np.where(largest > 0, largest, 1)
    # At least 1 unless the row is zero, and no square overflows.
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1)
