"""Whether the nearest neighbours of an embedding are of its class."""

from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import positive_integer

# Queries and gallery rows compared at once.
_QUERY_BLOCK, _GALLERY_BLOCK = 1024, 4096
# Candidates, beyond the largest k, whose order is settled in float64.
_SPARE = 16
# Numbers in memory while it is.
_EXACT_BLOCK = 2**22


def recall_at_k(
    embeddings: Any,
    labels: Any,
    k: int | Sequence[int] = (1,),
    distance: str = "l2",
    gallery: Any = None,
    gallery_labels: Any = None,
) -> dict[int, float]:
    """Fraction of queries with one of their class among the k nearest.

    Use it to judge embeddings by search: every row is a query, and the
    gallery is ranked by distance. Without a `gallery` the rows search among
    each other, and a query never finds itself (its own row is left out, not
    just the nearest row).

    The search is exhaustive and works in blocks: time is proportional to
    queries times gallery rows, and memory is that of a copy of the embeddings
    and a few blocks. Distances are computed in float32, and those of the
    nearest `max(k) + 16` again in float64, which decide. Rows at the same
    distance are ranked by their place in the gallery.

    Formula:

    ```
    recall@k = mean over queries of [any of the k nearest is of its class]
    ```

    Reference:

    - [Oh Song, Xiang, Jegelka & Savarese, 2016](https://arxiv.org/abs/1511.06452)

    Args:
        embeddings: Queries, `(n, dim)`.
        labels: Integers `(n,)`.
        k: One or several numbers of neighbours.
        distance: `"l2"` (Euclidean) or `"cosine"`; a row of zeros has cosine
            0 with every other.
        gallery: `(m, dim)`, the rows to search. None: `embeddings`.
        gallery_labels: Integers `(m,)`; required with `gallery`.

    Returns:
        A dictionary from each `k` to the recall, in `[0, 1]`. Queries whose
        class has no (other) member in the gallery cannot be found and are
        left out. Embeddings that say nothing about the class get the chance
        that one of k random rows is of the class of the query.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong rank or of
            different lengths, if `distance` is unknown, or if no query has
            a member of its class to find.

    Example:

    >>> embeddings_tf.metrics.recall_at_k(
    ...     [[0.0], [1.0], [3.0], [3.5]], [0, 0, 1, 0], k=(1, 2)
    ... )
    {1: 0.6666666666666666, 2: 1.0}
    """
    queries = arrays.numbers("embeddings", embeddings, 2, "(n, dim)")
    labels = arrays.integers("labels", labels, 1, "(n,)")
    arrays.same_length(embeddings=queries, labels=labels)
    one_of("distance", distance, ("l2", "cosine"))
    if (gallery is None) != (gallery_labels is None):
        raise ValueError(
            "`gallery` and `gallery_labels` must be passed together; received "
            "only one of them. Leave out both to search among `embeddings`."
        )
    among_themselves = gallery is None
    if among_themselves:
        gallery, gallery_labels = queries, labels
    else:
        gallery = arrays.numbers("gallery", gallery, 2, "(m, dim)")
        gallery_labels = arrays.integers(
            "gallery_labels", gallery_labels, 1, "(m,)"
        )
        arrays.same_length(gallery=gallery, gallery_labels=gallery_labels)
        if gallery.shape[1] != queries.shape[1]:
            raise ValueError(
                "`embeddings` and `gallery` must have the same dimension; "
                f"received {queries.shape[1]} and {gallery.shape[1]}. Embed "
                "both with the same encoder."
            )
    ks = [positive_integer("k", value) for value in np.atleast_1d(k)]
    if not ks:
        raise ValueError("`k` must not be empty; pass for instance k=(1,).")
    classes, members = np.unique(gallery_labels, return_counts=True)
    place = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    members = np.where(classes[place] == labels, members[place], 0)
    rows = np.flatnonzero(members > among_themselves)
    if not len(rows):
        raise ValueError(
            "At least one query must have a member of its class to find; "
            f"received {len(labels)} queries without any. Pass more examples "
            "per class, or the gallery's labels in the ids of `labels`."
        )
    hits = dict.fromkeys(ks, 0)
    for block, neighbours in _nearest(
        queries, gallery, rows, max(ks), distance, among_themselves
    ):
        same = gallery_labels[neighbours] == labels[block, None]
        for value in hits:
            hits[value] += int(np.sum(np.any(same[:, :value], axis=1)))
    return {value: count / len(rows) for value, count in hits.items()}


def _nearest(
    queries: np.ndarray,
    gallery: np.ndarray,
    rows: np.ndarray,
    count: int,
    distance: str,
    among_themselves: bool,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields blocks of `rows` and the gallery rows nearest to each, in order.

    A candidate is one uint64: the float32 distance in the upper half, whose
    bits sort like the number because it is not negative, and the place in the
    gallery in the lower half. So one partition gives the nearest, ties by
    place.
    """
    fast_queries, fast_gallery = _prepare(
        queries, gallery, distance, among_themselves
    )
    available = len(gallery) - among_themselves
    count = min(count, available)
    num_candidates = min(count + _SPARE, available)
    squares = np.einsum("nd,nd->n", fast_gallery, fast_gallery)
    for first in range(0, len(rows), _QUERY_BLOCK):
        block = rows[first : first + _QUERY_BLOCK]
        query = fast_queries[block]
        query_squares = np.einsum("nd,nd->n", query, query)[:, None]
        best = np.empty((len(block), 0), np.uint64)
        for start in range(0, len(gallery), _GALLERY_BLOCK):
            stop = min(start + _GALLERY_BLOCK, len(gallery))
            found = query @ fast_gallery[start:stop].T
            if distance == "l2":
                found *= -2
                found += query_squares
                found += squares[start:stop]
            else:
                np.subtract(1, found, out=found)
            np.abs(found, out=found)  # rounding may leave a little below 0
            if among_themselves:
                own = (block >= start) & (block < stop)
                found[own, block[own] - start] = np.inf
            keys = found.view(np.uint32).astype(np.uint64)
            keys <<= np.uint64(32)
            keys |= np.arange(start, stop, dtype=np.uint64)
            best = np.concatenate([best, _smallest(keys, num_candidates)], 1)
            best = _smallest(best, num_candidates)
        candidates = (best & np.uint64(2**32 - 1)).astype(np.int64)
        exact = _exact(queries[block], gallery, candidates, distance)
        order = np.lexsort((candidates, exact), axis=1)[:, :count]
        yield block, np.take_along_axis(candidates, order, axis=1)


def _smallest(keys: np.ndarray, count: int) -> np.ndarray:
    if keys.shape[1] <= count:
        return keys
    return np.partition(keys, count - 1, axis=1)[:, :count]


def _prepare(
    queries: np.ndarray,
    gallery: np.ndarray,
    distance: str,
    among_themselves: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """float32 copies with the same ranking that lose little in a product."""
    if distance == "cosine":

        def prepare(x):
            return (x / _length(x)[:, None].astype(x.dtype)).astype(np.float32)

    else:
        # Moved near the origin, and scaled against overflow. Both by numbers
        # of few bits: what float32 holds exactly (small integers) stays exact.
        low, high = gallery.min(axis=0), gallery.max(axis=0)
        spread = np.max(high - low)
        grid = 2.0 ** (np.floor(np.log2(spread)) - 2) if spread > 0 else 0
        centre = np.round((low / 2 + high / 2) / grid) * grid if grid else low
        largest = max(
            np.max(np.abs(limit - centre))
            for x in (queries, gallery)
            for limit in (x.min(axis=0), x.max(axis=0))
        )
        scale = 2.0 ** -np.ceil(np.log2(largest)) if largest > 0 else 1.0

        def prepare(x):
            return ((x - centre.astype(x.dtype)) * x.dtype.type(scale)).astype(
                np.float32, copy=False
            )

    fast_gallery = prepare(gallery)
    fast_queries = fast_gallery if among_themselves else prepare(queries)
    return fast_queries, fast_gallery


def _exact(
    queries: np.ndarray,
    gallery: np.ndarray,
    candidates: np.ndarray,
    distance: str,
) -> np.ndarray:
    """float64 distances of each query and its candidates."""
    exact = np.empty(candidates.shape)
    per_query = candidates.shape[1] * gallery.shape[1]
    size = max(1, _EXACT_BLOCK // per_query)
    for first in range(0, len(queries), size):
        part = slice(first, first + size)
        query = queries[part].astype(np.float64)
        found = gallery[candidates[part]].astype(np.float64)
        if distance == "l2":
            found -= query[:, None]
            exact[part] = np.einsum("qcd,qcd->qc", found, found)
        else:
            product = np.einsum("qcd,qd->qc", found, query)
            lengths = _length(found) * _length(query)[:, None]
            exact[part] = 1 - product / lengths
    return exact


def _length(x: np.ndarray) -> np.ndarray:
    """Length of each row; 1 for a row of zeros, to divide by."""
    length = np.sqrt(np.einsum("...d,...d->...", x, x, dtype=np.float64))
    return np.where(length > 0, length, 1.0)
