"""Finds a reference for traversals of single dimensions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.viz.traversal_indices import checked_dims
from embeddings_tf.viz.traversal_indices import squared_distances
from embeddings_tf.viz.traversal_indices import traversal_indices


def traversal_reference(
    codes: Any,
    dims: Sequence[int] | None = None,
    num_steps: int = 7,
    *,
    max_candidates: int = 256,
) -> np.ndarray:
    """Finds a good code from which traversals of single dimensions start.

    Use it as the `reference` of `traversal_figure`. The default there is the
    median, which may be far from all examples, between two values of a factor.
    This function returns the code of an example from which other examples
    differ in only one dimension, as far as the data allow.

    Formula, with the examples that `traversal_indices` chooses for a
    reference:

    ```
    reference = argmin over examples of
        sum over dims, steps and i != dim of
            ((code[chosen, i] - reference[i]) / stddev[i])^2
    ```

    Args:
        codes: `(n, dims)`, at least `num_steps` examples.
        dims: Dimensions to move, from 0; None: all.
        num_steps: Examples per dimension.
        max_candidates: Number of examples that are tried, evenly spaced.

    Returns:
        `(dims,)`, a row of `codes`.

    Raises:
        ValueError: As `traversal_indices`, or if `max_candidates` is not at
            least 1.

    Example:

    >>> codes = [[0, 0], [1, 0], [2, 0], [0, 3], [1, 7], [2, 9]]
    >>> reference = embeddings_tf.viz.traversal_reference(
    ...     codes, [0], num_steps=3
    ... )
    >>> reference.tolist()
    [0.0, 0.0]
    """
    codes = arrays.numbers("codes", codes, 2, "(n, dims)").astype("float64")
    max_candidates = positive_integer("max_candidates", max_candidates)
    moved = checked_dims(dims, codes.shape[1]).tolist()

    def others_off(reference):
        chosen = traversal_indices(codes, moved, num_steps, reference=reference)
        distances = squared_distances(codes, reference)
        return sum(
            np.delete(distances[indices], dim, axis=1).sum()
            for dim, indices in zip(moved, chosen, strict=True)
        )

    step = -(-len(codes) // max_candidates)
    return min(codes[::step], key=others_off)
