"""Exact nearest neighbours: fast distances first, exact ones if needed."""

from collections.abc import Callable
from collections.abc import Iterator

import numpy as np

from embeddings_tf.ops.blocks import blocks
from embeddings_tf.ops.gallery_distances import Distances
from embeddings_tf.ops.nearest_candidates import MOST_CANDIDATES
from embeddings_tf.ops.nearest_candidates import nearest_candidates
from embeddings_tf.ops.rank_in_class import rank_in_class

# Number of queries that are searched at once.
_QUERY_BLOCK = 8192
# Numbers in memory at once, such as distances of queries to the gallery.
_BLOCK = 2**22
# Extra candidates. Without them, every tie at the last rank would need an
# exhaustive search.
_SPARE = 6
# float32 proposes candidates first for this many distances or more, ...
_MANY = 2**22
# ... if it decides all but this share of this many queries.
_LARGEST_OPEN_SHARE, _TRIED = 0.2, 256
# Largest number of candidates in memory, and of dimensions.
_HELD, _MOST_DIMENSIONS = 2**26, 2**13


def nearest(
    distances: Distances,
    rows: np.ndarray,
    count: int,
    hidden: Callable | None = None,
    progress: Callable[[int], object] | None = None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields blocks of `rows` and the gallery rows nearest to each, in order.

    The order is by exact distance, then by the number of the gallery row.

    For many queries, products in float32 propose candidates; for few, or where
    float32 is too coarse, scikit-learn's search in float64. If the bound on
    rounding errors leaves the order of candidates open, exact distances
    decide. If a candidate may have been missed in float64 too, for instance
    among many equal rows, the query is compared with the whole gallery. Memory
    is a few blocks and copies of the gallery.

    Args:
        distances: Distances of the queries to the gallery.
        rows: Numbers of queries, `(r,)`.
        count: Number of neighbours, at most the rows of the gallery.
        hidden: Function of a block of `rows` that returns booleans `(block,
            m)`: the gallery rows that these queries must not find. Hidden rows
            come last if fewer than `count` rows are left.
        progress: Function called with a number of queries, again and again
            during the search; all calls together have r.

    Yields:
        A block of `rows` and integers `(block, count)`.
    """
    size = len(distances.gallery)
    advance = progress or (lambda count: None)
    if hidden is not None:
        for part in blocks(len(rows), max(1, _BLOCK // size)):
            block = rows[part]
            found = _exhaustive(distances, block, count, hidden(block))
            advance(len(block))
            yield block, found
        return

    if not _single_precision_helps(distances, rows, count):
        for block, found in _nearest_in_double_precision(
            distances, rows, count
        ):
            advance(len(block))
            yield block, found
        return
    counted = 0

    def of_tiles(done, all_tiles):
        nonlocal counted
        more = len(rows) * done // all_tiles - counted
        counted += more
        advance(more)

    places, unsure = _nearest_in_single_precision(
        distances, rows, count, of_tiles
    )
    start = 0
    for block, found in _nearest_in_double_precision(
        distances, rows[unsure], count
    ):
        places[unsure[start : start + len(block)]] = found
        start += len(block)
    yield rows, places


def _single_precision_helps(distances, rows, count):
    """Whether float32 saves time and decides most of some queries."""
    size, dim = distances.points.shape
    num_candidates = min(count + _SPARE, size)
    if (
        len(rows) * size < _MANY
        or len(rows) * num_candidates > _HELD
        or num_candidates > MOST_CANDIDATES
        or dim > _MOST_DIMENSIONS
    ):
        return False
    tried = rows[:: max(1, len(rows) // _TRIED)]
    _, unsure = _nearest_in_single_precision(distances, tried, count)
    return len(unsure) <= _LARGEST_OPEN_SHARE * len(tried)


def _nearest_in_single_precision(distances, rows, count, progress=None):
    """Returns the nearest rows, and which queries float32 leaves open."""
    points = distances.points
    size, dim = points.shape
    among_themselves = distances.same_points() and len(rows) > len(points) / 2
    queries, squares = (
        (points[:1], distances.squares[rows])
        if among_themselves
        else distances.prepare(rows)
    )
    # Scaled to [-1, 1], so that products do not overflow.
    largest = max(x.max() for x in (points, -points, queries, -queries))
    exponent = np.frexp(largest)[1]
    gallery = np.ldexp(points, -exponent).astype(np.float32)
    num_candidates = min(count + _SPARE, size)
    if among_themselves:
        fast, candidates = nearest_candidates(
            gallery, gallery, num_candidates, progress
        )
        fast, candidates = fast[rows], candidates[rows]
    else:
        queries = np.ldexp(queries, -exponent).astype(np.float32)
        fast, candidates = nearest_candidates(
            queries, gallery, num_candidates, progress
        )
    single = np.finfo(np.float32)
    return _settled(
        distances,
        rows,
        squares,
        np.ldexp(fast.astype(np.float64), 2 * exponent),
        candidates,
        count,
        # More operations than in float64: rows are rounded, too.
        gamma=(dim + 16) * float(single.eps),
        underflow=np.ldexp((dim + 16) * float(single.tiny), 2 * exponent + 2),
    )


def _nearest_in_double_precision(distances, rows, count):
    """As `nearest` without `hidden`; scikit-learn proposes candidates."""
    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(algorithm="brute", metric="sqeuclidean")
    index.fit(distances.points)
    size = len(distances.gallery)
    num_candidates, fewer = min(count + _SPARE, size), None
    most = min(_QUERY_BLOCK, max(1, _BLOCK // num_candidates))
    for block in blocks(len(rows), most):
        block = rows[block]
        queries, squares = distances.prepare(block)
        fast, candidates = index.kneighbors(queries, num_candidates)
        places, unsure = _settled(
            distances, block, squares, fast, candidates, count
        )
        if len(unsure):
            if fewer is None:
                kept = without_surplus(distances.gallery, count)
                fewer = distances.of_gallery(kept)
            found = _exhaustive_once(fewer, block[unsure], count)
            places[unsure] = kept[found]
        yield block, places


def _settled(distances, rows, squares, fast, candidates, count, **errors):
    """Orders candidates; returns the first `count`, and which rows are open.

    Exact distances decide where the bound on rounding errors leaves the order
    open. A row is open if its last candidate may be farther than others.
    """
    places = candidates[:, :count].copy()
    # Queries for which fast distances do not determine the first `count`.
    gaps = np.diff(fast[:, : count + 1], axis=1)
    bound = distances.slack(
        squares[:, None], fast[:, : gaps.shape[1]], **errors
    )
    close = np.flatnonzero(np.any(gaps <= bound, axis=1))
    fast, candidates = fast[close], candidates[close]
    exact = distances.exact(
        np.repeat(rows[close], candidates.shape[1]), candidates.ravel()
    ).reshape(candidates.shape)
    order = np.lexsort((candidates, exact), axis=1)[:, :count]
    places[close] = np.take_along_axis(candidates, order, axis=1)
    if candidates.shape[1] == len(distances.gallery):
        return places, close[:0]
    last = np.take_along_axis(exact, order[:, -1:], axis=1)[:, 0]
    slack = distances.slack(squares[close], fast[:, -1], **errors)
    return places, close[last >= fast[:, -1] - slack]


def without_surplus(gallery, count):
    """Numbers of the rows with fewer than `count` equal rows before them.

    Other rows cannot be among the nearest `count` of a query.
    """
    group = np.unique(gallery, axis=0, return_inverse=True)[1].ravel()
    return np.flatnonzero(rank_in_class(group) < count)


def _exhaustive_once(distances, rows, count):
    """As `_exhaustive`, in blocks, with one search for equal queries."""
    _, first, equal = np.unique(
        distances.queries[rows], axis=0, return_index=True, return_inverse=True
    )
    size = max(1, _BLOCK // len(distances.gallery))
    found = [
        _exhaustive(distances, rows[first[block]], count)
        for block in blocks(len(first), size)
    ]
    return np.concatenate(found)[equal.ravel()]


def _exhaustive(distances, rows, count, hidden=None):
    """Returns the nearest `count` of the whole gallery, `(rows, count)`."""
    fast, squares = distances.fast(rows)
    if hidden is not None:
        fast[hidden] = np.inf
    limit = np.partition(fast, count - 1, axis=1)[:, count - 1, None]
    limit = limit + distances.slack(squares, limit)
    row, column = np.nonzero(fast <= limit)
    exact = distances.exact(rows[row], column)
    if hidden is not None:
        exact[hidden[row, column]] = np.inf
    order = np.lexsort((exact, row))  # stable: equal rows stay in order
    start = np.searchsorted(row, np.arange(len(rows)))
    return column[order[start[:, None] + np.arange(count)]]
