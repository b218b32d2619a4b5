"""Exact nearest neighbours: fast distances first, exact ones if needed."""

import copy
from collections.abc import Callable
from collections.abc import Iterator

import numpy as np

# Number of queries that are searched at once.
_QUERY_BLOCK = 8192
# Numbers in memory at once, such as distances of queries to the gallery.
_BLOCK = 2**22
# Numbers of rows that are subtracted at once, which fit in the cache.
_DIRECT_BLOCK = 2**16
# Extra candidates. Without them, every tie at the last rank would need an
# exhaustive search.
_SPARE = 6
# Below this squared distance of unit rows, their difference is more accurate
# than 2 minus twice their cosine.
_SMALL = 1e-6


class Distances:
    """Squared distances of queries to a gallery, fast and exact.

    Fast distances come from a matrix product and have rounding errors, which
    `slack` bounds. Exact distances, for chosen pairs, are as accurate as
    float64 allows. The bound depends only on the query, not on the
    gallery rows, so an outlier in the gallery does not make other rows less
    accurate.

    Args:
        queries: `(n, dim)`, float32 or float64, finite.
        gallery: `(m, dim)`, likewise.
        distance: `"l2"`: the squared Euclidean distance. `"cosine"`: 2 minus
            twice the cosine, which is the squared distance of unit rows; a row
            of zeros has cosine 0 with every row.
    """

    def __init__(
        self, queries: np.ndarray, gallery: np.ndarray, distance: str = "l2"
    ):
        self.cosine = distance == "cosine"
        self.queries, self.gallery = _in_range(queries, gallery, self.cosine)
        if self.cosine:
            self._query_lengths = _lengths(self.queries)
            self._gallery_lengths = (
                self._query_lengths
                if self.gallery is self.queries
                else _lengths(self.gallery)
            )
            points = _unit(self.gallery, self._gallery_lengths)
            # Rows of zeros get a separate direction, which no query has.
            points[:, -1] = self._gallery_lengths == 0
        else:
            points = self.gallery.astype(np.float64)
        # Products are most accurate near the origin. Unlike the mean, the
        # median is close to most rows even if there are outliers.
        some = np.linspace(0, len(points) - 1, min(len(points), 1024))
        self._centre = np.median(points[some.astype(np.int64)], axis=0)
        points -= self._centre
        self.points = points
        self._squares = np.einsum("nd,nd->n", points, points)
        # Bounds the relative rounding error of a sum of `dim` products in any
        # order, and of the operations on its terms before and after.
        self._gamma = (self.queries.shape[1] + 8) * np.finfo(float).eps

    def prepare(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns queries in the frame of `points`, and squared lengths."""
        queries = self.queries[rows]
        if self.cosine:
            queries = _unit(queries, self._query_lengths[rows])
        else:
            queries = queries.astype(np.float64)
        queries -= self._centre
        return queries, np.einsum("nd,nd->n", queries, queries)

    def fast(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distances `(rows, m)` by a product, and a measure of their errors.

        The measure, `(rows, 1)`, is the first argument of `slack`.
        """
        queries, squares = self.prepare(rows)
        found = queries @ self.points.T
        found *= -2
        found += squares[:, None]
        found += self._squares
        return np.maximum(found, 0, out=found), squares[:, None]

    def slack(self, squares: np.ndarray, fast: np.ndarray) -> np.ndarray:
        """Difference of two fast distances that ensures their exact order.

        A pair's error is at most `gamma (|q| + |g|)^2`. With `|g| <= |q| + d`
        for the distance d, that is at most `gamma (8 |q|^2 + 2 d^2)`, so the
        length of the gallery row is not needed. The sum of two such errors,
        rounded up, is the first two terms.

        Args:
            squares: Squared lengths of prepared queries.
            fast: The smaller of the two distances.
        """
        found = self._gamma * (17 * squares + 5 * fast)
        return found + 2 * self.rounding(fast) if self.cosine else found

    def rounding(self, distance: np.ndarray) -> np.ndarray:
        """Bounds the rounding error in a difference of exact distances."""
        if not self.cosine:
            return self._gamma * distance
        # Unit rows have rounding errors, which centring does not reduce.
        small = self._gamma * (2 * np.sqrt(distance) + self._gamma)
        return np.where(distance < _SMALL / 2, small, 2 * self._gamma)

    def exact(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Distances between query `rows[i]` and gallery row `columns[i]`."""
        found = np.empty(len(rows))
        size = max(1, _DIRECT_BLOCK // self.gallery.shape[1])
        compute = self._cosine_distances if self.cosine else self._l2_distances
        for block in _blocks(len(rows), size):
            found[block] = compute(rows[block], columns[block])
        return found

    def of_gallery(self, places: np.ndarray) -> "Distances":
        """Returns distances to only some rows of the gallery."""
        part = copy.copy(self)
        part.gallery, part.points = self.gallery[places], self.points[places]
        part._squares = self._squares[places]
        if self.cosine:
            part._gallery_lengths = self._gallery_lengths[places]
        return part

    def _l2_distances(self, rows, columns):
        difference = self.gallery[columns].astype(np.float64)
        difference -= self.queries[rows]
        return np.einsum("pd,pd->p", difference, difference)

    def _cosine_distances(self, rows, columns):
        queries = self.queries[rows].astype(np.float64)
        gallery = self.gallery[columns].astype(np.float64)
        lengths = self._query_lengths[rows], self._gallery_lengths[columns]
        product = np.einsum("pd,pd->p", queries, gallery)
        scale = lengths[0] * lengths[1]
        found = 2 - 2 * product / np.where(scale > 0, scale, 1)
        near = np.flatnonzero(found < _SMALL)
        difference = queries[near] / lengths[0][near, None]
        difference -= gallery[near] / lengths[1][near, None]
        found[near] = np.einsum("pd,pd->p", difference, difference)
        return found


def nearest(
    distances: Distances,
    rows: np.ndarray,
    count: int,
    hidden: Callable | None = None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields blocks of `rows` and the gallery rows nearest to each, in order.

    The order is by exact distance, then by the number of the gallery row.

    scikit-learn's search proposes candidates. If the bound on rounding errors
    leaves the order of candidates open, exact distances decide. If a candidate
    may have been missed, for instance among many equal rows, the query is
    compared with the whole gallery. Memory is a few blocks.

    Args:
        distances: Distances of the queries to the gallery.
        rows: Numbers of queries, `(r,)`.
        count: Number of neighbours, at most the rows of the gallery.
        hidden: Function of a block of `rows` that returns booleans `(block,
            m)`: the gallery rows that these queries must not find. Hidden rows
            come last if fewer than `count` rows are left.

    Yields:
        A block of `rows` and integers `(block, count)`.
    """
    size = len(distances.gallery)
    if hidden is not None:
        for block in _blocks(len(rows), max(1, _BLOCK // size)):
            yield (
                rows[block],
                _exhaustive(distances, rows[block], count, hidden(rows[block])),
            )
        return

    from sklearn.neighbors import NearestNeighbors

    index = NearestNeighbors(algorithm="brute", metric="sqeuclidean")
    index.fit(distances.points)
    num_candidates, fewer = min(count + _SPARE, size), None
    most = min(_QUERY_BLOCK, max(1, _BLOCK // num_candidates))
    for block in _blocks(len(rows), most):
        block = rows[block]
        queries, squares = distances.prepare(block)
        fast, candidates = index.kneighbors(queries, num_candidates)
        places = candidates[:, :count]
        # Queries for which fast distances do not determine the first `count`.
        gaps = np.diff(fast[:, : count + 1], axis=1)
        bound = distances.slack(squares[:, None], fast[:, : gaps.shape[1]])
        close = np.flatnonzero(np.any(gaps <= bound, axis=1))
        if len(close) == 0:
            yield block, places
            continue
        fast, candidates = fast[close], candidates[close]
        exact = distances.exact(
            np.repeat(block[close], num_candidates), candidates.ravel()
        ).reshape(candidates.shape)
        order = np.lexsort((candidates, exact), axis=1)[:, :count]
        places[close] = np.take_along_axis(candidates, order, axis=1)
        if num_candidates < size:
            last = np.take_along_axis(exact, order[:, -1:], axis=1)[:, 0]
            reach = fast[:, -1] - distances.slack(squares[close], fast[:, -1])
            unsure = close[last >= reach]
            if len(unsure):
                if fewer is None:
                    kept = _without_surplus(distances.gallery, count)
                    fewer = distances.of_gallery(kept)
                found = _exhaustive_once(fewer, block[unsure], count)
                places[unsure] = kept[found]
        yield block, places


def _without_surplus(gallery, count):
    """Numbers of the rows with fewer than `count` equal rows before them.

    Other rows cannot be among the nearest `count` of a query.
    """
    group = np.unique(gallery, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(group, kind="stable")
    start = np.searchsorted(group[order], group[order])
    return np.sort(order[np.arange(len(order)) - start < count])


def _exhaustive_once(distances, rows, count):
    """As `_exhaustive`, in blocks, with one search for equal queries."""
    _, first, equal = np.unique(
        distances.queries[rows], axis=0, return_index=True, return_inverse=True
    )
    size = max(1, _BLOCK // len(distances.gallery))
    found = [
        _exhaustive(distances, rows[first[block]], count)
        for block in _blocks(len(first), size)
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


def _in_range(queries, gallery, by_row):
    """Scales rows so that squares fit in float64; rankings stay the same.

    Each row, or all rows together, are scaled by a power of 2, which is exact.
    """

    both = [queries] if gallery is queries else [queries, gallery]
    powers = [np.frexp(np.maximum(x.max(1), -x.min(1)))[1] for x in both]
    if not by_row:
        largest = max(max(x.max(), -x.min()) for x in both)
        powers = [np.full(len(x), np.frexp(largest)[1]) for x in both]
    if max(np.max(np.abs(power)) for power in powers) > 400:
        both = [
            np.ldexp(x.astype(np.float64), -power[:, None])
            for x, power in zip(both, powers, strict=True)
        ]
    return both[0], both[-1]


def _lengths(x):
    return np.sqrt(np.einsum("nd,nd->n", x, x, dtype=np.float64))


def _unit(x, lengths):
    """Scales rows to length 1 in float64, and adds a column of zeros."""
    unit = np.zeros((len(x), x.shape[1] + 1))
    np.divide(x, np.where(lengths > 0, lengths, 1)[:, None], out=unit[:, :-1])
    return unit


def _blocks(length, size):
    return [slice(first, first + size) for first in range(0, length, size)]
