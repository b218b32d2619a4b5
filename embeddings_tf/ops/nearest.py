"""Exact nearest neighbours: fast distances propose, direct ones decide."""

import copy
from collections.abc import Callable
from collections.abc import Iterator

import numpy as np

# Queries that are searched at once.
_QUERY_BLOCK = 8192
# Numbers in memory at once, such as distances of queries to the gallery.
_BLOCK = 2**22
# Numbers of rows that are subtracted at once: few enough for the cache.
_DIRECT_BLOCK = 2**16
# Candidates beyond those asked for. Without them, every tie at the last place
# would need an exhaustive search.
_SPARE = 6
# Below this squared distance of unit rows, their difference is more accurate
# than 2 minus twice their cosine.
_SMALL = 1e-6


class Distances:
    """Squared distances of queries to a gallery, fast ones and exact ones.

    Fast distances come from a matrix product and have rounding errors, which
    `slack` bounds. Exact distances are as accurate as float64 allows, for
    chosen pairs. The bound holds for any gallery row, however long, and
    depends on the query only: one outlier in the gallery makes no other row
    less accurate.

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
            # Rows of zeros get a direction of their own, which no query has.
            points[:, -1] = self._gallery_lengths == 0
        else:
            points = self.gallery.astype(np.float64)
        # Products lose little near the origin. Unlike the mean, the median
        # stays among most of the rows whatever the others are.
        some = np.linspace(0, len(points) - 1, min(len(points), 1024))
        self._centre = np.median(points[some.astype(np.int64)], axis=0)
        points -= self._centre
        self.points = points
        self._squares = np.einsum("nd,nd->n", points, points)
        # Bounds the relative rounding error of a sum of `dim` products, in
        # any order, and of what is done to its terms before and after.
        self._gamma = (self.queries.shape[1] + 8) * np.finfo(float).eps

    def prepare(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Queries in the frame of `points`, and their squared lengths."""
        queries = self.queries[rows]
        if self.cosine:
            queries = _unit(queries, self._query_lengths[rows])
        else:
            queries = queries.astype(np.float64)
        queries -= self._centre
        return queries, np.einsum("nd,nd->n", queries, queries)

    def fast(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distances `(rows, m)` by a product, and what bounds their errors.

        The bound, `(rows, 1)`, is the first argument of `slack`.
        """
        queries, squares = self.prepare(rows)
        found = queries @ self.points.T
        found *= -2
        found += squares[:, None]
        found += self._squares
        return np.maximum(found, 0, out=found), squares[:, None]

    def slack(self, squares: np.ndarray, fast: np.ndarray) -> np.ndarray:
        """By how much two fast distances must differ to be in exact order.

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
        """Bounds the rounding errors in the difference of two exact ones."""
        if not self.cosine:
            return self._gamma * distance
        # Unit rows have rounding errors, which the centre does not lessen.
        small = self._gamma * (2 * np.sqrt(distance) + self._gamma)
        return np.where(distance < _SMALL / 2, small, 2 * self._gamma)

    def exact(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Distances of query `rows[i]` and gallery row `columns[i]`."""
        found = np.empty(len(rows))
        size = max(1, _DIRECT_BLOCK // self.gallery.shape[1])
        compute = self._cosine_distances if self.cosine else self._l2_distances
        for block in _blocks(len(rows), size):
            found[block] = compute(rows[block], columns[block])
        return found

    def of_gallery(self, places: np.ndarray) -> "Distances":
        """Distances to some rows of the gallery only."""
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

    The order is that of the exact distances; of gallery rows at the same
    distance, the one with the lower number is first.

    scikit-learn's search proposes candidates. Exact distances decide where the
    bound on rounding errors leaves their order open. Where the bound does not
    exclude that one was missed, as among many equal rows, the query is compared
    with the whole gallery. Memory is a few blocks.

    Args:
        distances: Of the queries and the gallery.
        rows: Numbers of queries, `(r,)`.
        count: How many neighbours, at most the rows of the gallery.
        hidden: Function of a block of `rows` that returns booleans `(block,
            m)`: which gallery rows these queries must not find. Hidden rows
            follow where fewer than `count` are left.

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
        # Queries whose first `count` the fast distances do not put in order.
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

    No query has another among its nearest `count`.
    """
    group = np.unique(gallery, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(group, kind="stable")
    start = np.searchsorted(group[order], group[order])
    return np.sort(order[np.arange(len(order)) - start < count])


def _exhaustive_once(distances, rows, count):
    """As `_exhaustive`, in blocks; equal queries are searched once."""
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
    """The nearest `count` of the whole gallery, `(rows, count)`."""
    fast, squares = distances.fast(rows)
    if hidden is not None:
        fast[hidden] = np.inf
    limit = np.partition(fast, count - 1, axis=1)[:, count - 1, None]
    limit = limit + distances.slack(squares, limit)
    row, column = np.nonzero(fast <= limit)
    exact = distances.exact(rows[row], column)
    if hidden is not None:
        exact[hidden[row, column]] = np.inf
    order = np.lexsort((exact, row))  # stable: equal ones stay by column
    start = np.searchsorted(row, np.arange(len(rows)))
    return column[order[start[:, None] + np.arange(count)]]


def _in_range(queries, gallery, by_row):
    """The same rankings, without squares beyond the range of float64.

    Powers of 2 scale each row, or all rows alike, exactly.
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
    """Rows of length 1, or zeros, in float64, and a column of zeros."""
    unit = np.zeros((len(x), x.shape[1] + 1))
    np.divide(x, np.where(lengths > 0, lengths, 1)[:, None], out=unit[:, :-1])
    return unit


def _blocks(length, size):
    return [slice(first, first + size) for first in range(0, length, size)]
