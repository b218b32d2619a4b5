"""Violations of the metric axioms by a learned distance."""

from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import integer_at_least


def distance_properties(
    distance: Any, *, num_items: int = 300, seed: int = 0
) -> dict[str, np.ndarray]:
    """Measures how far distances violate the axioms of a metric.

    Use it on a learned distance, which need not be symmetric, obey the
    triangle inequality, or place a point closest to itself. All values are 0
    for a metric; `viz.distance_properties_figure` draws them.

    Formula, with `d` the distance of the row from the column:

    ```
    self_distance = d(x, x)                             for every x
    asymmetry     = |d(a, b) - d(b, a)|                 for every pair
    excess        = max(d(b, c) - d(a, b) - d(a, c), 0) for triplets
    ```

    Triplets are all a < b < c, in the order of the rows, of a random sample of
    `num_items` rows.

    Args:
        distance: `(n, n)`, n at least 3. For log-likelihood ratios pass
            `scipy.special.expit(-logits)`.
        num_items: Number of rows in the sample; all rows if there are fewer.
            300 rows have 4,455,100 triplets.
        seed: Random seed of the sample.

    Returns:
        `"self_distance"`, `(n,)`; `"asymmetry"`, `(n (n - 1) / 2,)`;
        `"triangle_excess"`, `(triplets,)`; with the dtype of the distances.

    Raises:
        ValueError: If the distances are not finite or not a square matrix of
            at least three rows, or `num_items` is below 3.

    Reference:
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Section
          4.3, where `d` is 1 minus the same-class probability; triplets as in
          the authors' code

    Example:

    >>> points = np.array([0.0, 1.0, 3.0])
    >>> squared = (points[:, None] - points) ** 2  # no metric: 9 > 1 + 4
    >>> embeddings_tf.metrics.distance_properties(squared)["triangle_excess"]
    array([0.])
    >>> found = embeddings_tf.metrics.distance_properties(
    ...     squared[[1, 0, 2]][:, [1, 0, 2]]
    ... )
    >>> found["triangle_excess"]
    array([4.])
    """
    distance = arrays.numbers("distance", distance, 2, "(n, n)")
    n = len(distance)
    if distance.shape != (n, n) or n < 3:
        raise ValueError(
            "`distance` must be a square matrix for at least 3 items; "
            f"received shape {distance.shape}. Pass score_all_pairs of one "
            "set of embeddings."
        )
    integer_at_least("num_items", num_items, 3)
    first, second = np.triu_indices(n, 1)
    rows = np.arange(n)
    if num_items < n:
        rng = arrays.generator(seed)
        rows = np.sort(rng.choice(n, num_items, replace=False))
    sample = distance[np.ix_(rows, rows)]
    b, c = np.triu_indices(len(rows), 1)
    excess = []
    for a in range(len(rows) - 2):
        later = b > a
        from_a = sample[a, b[later]] + sample[a, c[later]]
        excess.append(np.maximum(sample[b[later], c[later]] - from_a, 0))
    return {
        "self_distance": np.diagonal(distance).copy(),
        "asymmetry": np.abs(distance[first, second] - distance[second, first]),
        "triangle_excess": np.concatenate(excess),
    }
