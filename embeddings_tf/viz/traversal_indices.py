"""Finds real examples along which a single dimension moves."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import positive_integer

# In standard deviations; sums of squares of this value are finite.
_FURTHEST = 1e100


def traversal_indices(
    codes: Any,
    dims: Sequence[int] | None = None,
    num_steps: int = 7,
    *,
    reference: Any = None,
) -> np.ndarray:
    """Examples along which one dimension rises and all others hardly move.

    Use it to show the meaning of a dimension without a decoder; see
    `traversal_figure`. The examples are sorted by the dimension and split into
    `num_steps` parts of equal counts. From each part the function takes the
    example whose other dimensions are nearest to a reference.

    Formula:

    ```
    chosen = argmin over j of part of
        sum over i != dim of ((code[j, i] - reference[i]) / stddev[i])^2
    ```

    where `stddev` is the dimension's standard deviation over all examples.
    Constant dimensions are ignored. With more dimensions or fewer examples,
    the other dimensions move more.

    Args:
        codes: `(n, dims)`, at least `num_steps` examples.
        dims: Dimensions to move, from 0; None: all.
        num_steps: Examples per dimension.
        reference: `(dims,)`, the target of all other dimensions; None: the
            median of each dimension.

    Returns:
        Integers `(len(dims), num_steps)`, rows of `codes`. Along a row the
        dimension never falls. Equal examples keep their order.

    Raises:
        ValueError: If `codes` are empty, not finite or fewer than
            `num_steps`, if a dimension does not exist, or if `reference` has
            another length.

    Example:

    >>> codes = [[0, 5], [0, 0], [1, 0], [1, 5], [2, 5], [2, 0]]
    >>> embeddings_tf.viz.traversal_indices(
    ...     codes, [0], num_steps=3, reference=[0, 0]
    ... )
    array([[1, 2, 5]])
    """
    codes = arrays.numbers("codes", codes, 2, "(n, dims)")
    num_steps = positive_integer("num_steps", num_steps)
    num_dims = codes.shape[1]
    chosen_dims = checked_dims(dims, num_dims)
    if len(codes) < num_steps:
        raise ValueError(
            f"`codes` must have at least `num_steps` = {num_steps} examples; "
            f"received {len(codes)}. Pass more or take fewer steps."
        )
    distances = squared_distances(codes, reference)
    total = distances.sum(axis=1)
    chosen = np.empty((len(chosen_dims), num_steps), int)
    for row, dim in enumerate(chosen_dims):
        others = total - distances[:, dim]
        ranking = np.argsort(codes[:, dim], kind="stable")
        for step, part in enumerate(np.array_split(ranking, num_steps)):
            chosen[row, step] = part[np.argmin(others[part])]
    return chosen


def checked_dims(dims: Sequence[int] | None, num_dims: int) -> np.ndarray:
    """Dimensions to move, by default all; ValueError unless they exist."""
    if dims is None:
        return np.arange(num_dims)
    found = array("dims", dims)
    is_list = found.ndim == 1 and found.size and found.dtype.kind in "iu"
    if not is_list or not np.isin(found, np.arange(num_dims)).all():
        raise ValueError(
            "`dims` must be a list of at least one dimension from 0 to "
            f"{num_dims - 1}; received {found.tolist()}. None: all."
        )
    return found


def squared_distances(codes: np.ndarray, reference: Any) -> np.ndarray:
    """Squared distances of codes to the reference, in variances, by dim."""
    reference = reference_point(codes, reference).astype("float64")
    codes, exponent = arrays.scaled(codes, axis=0)
    with np.errstate(over="ignore"):  # refused below
        reference = np.ldexp(reference, -exponent)
    constant = np.ptp(codes, axis=0) == 0
    stddev = np.where(constant, np.inf, np.std(codes, axis=0))
    off = (codes - np.where(constant, codes[0], reference)) / stddev
    if np.abs(off).max() > _FURTHEST:
        raise ValueError(
            "`reference` must be near the codes; received a value more than "
            f"{_FURTHEST:g} standard deviations away."
        )
    return off**2


def reference_point(codes: np.ndarray, reference: Any) -> np.ndarray:
    """Returns the given point or the median; ValueError if it does not fit."""
    if reference is None:
        scaled, exponent = arrays.scaled(codes, axis=0)
        return np.ldexp(np.median(scaled, axis=0), exponent)
    reference = arrays.numbers("reference", reference, 1, "(dims,)")
    if len(reference) != codes.shape[1]:
        raise ValueError(
            f"`reference` must have one value for each of the "
            f"{codes.shape[1]} dimensions; received {len(reference)}."
        )
    return reference
