"""Squared distances of queries to a gallery, fast and exact."""

import copy

import numpy as np

from embeddings_tf.ops.blocks import blocks

# Numbers of rows that are subtracted at once, which fit in the cache.
_DIRECT_BLOCK = 2**16
# Sums of many squares of 2 to this power fit in float64.
_LARGEST_POWER = 400
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
        self.squares = np.einsum("nd,nd->n", points, points)
        # Bounds the relative rounding error of a sum of `dim` products in any
        # order, and of the operations on its terms before and after.
        self._gamma = (self.queries.shape[1] + 8) * np.finfo(float).eps

    def same_points(self) -> bool:
        """Whether prepared queries are rows of `points`."""
        same = self.queries is self.gallery
        return same and not (self.cosine and np.any(self._query_lengths == 0))

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
        found += self.squares
        return np.maximum(found, 0, out=found), squares[:, None]

    def slack(
        self,
        squares: np.ndarray,
        fast: np.ndarray,
        gamma: float | None = None,
        underflow: float = 0.0,
    ) -> np.ndarray:
        """Difference of two fast distances that ensures their exact order.

        A pair's error is at most `gamma (|q| + |g|)^2`. With `|g| <= |q| + d`
        for the distance d, that is at most `gamma (8 |q|^2 + 2 d^2)`, so the
        length of the gallery row is not needed. The sum of two such errors,
        rounded up, is the first two terms.

        Args:
            squares: Squared lengths of prepared queries.
            fast: The smaller of the two distances.
            gamma: Relative rounding error of fast distances; None: of the
                products of `fast`.
            underflow: Absolute rounding error of fast distances.
        """
        gamma = self._gamma if gamma is None else gamma
        found = gamma * (17 * squares + 5 * fast) + underflow
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
        for block in blocks(len(rows), size):
            found[block] = compute(rows[block], columns[block])
        return found

    def of_gallery(self, places: np.ndarray) -> "Distances":
        """Returns distances to only some rows of the gallery."""
        part = copy.copy(self)
        part.gallery, part.points = self.gallery[places], self.points[places]
        part.squares = self.squares[places]
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


def _in_range(queries, gallery, by_row):
    """Scales rows so that squares fit in float64; rankings stay the same.

    Each row, or all rows together, are scaled by a power of 2, which is exact.
    All rows together become as large as their squares allow, so that squares
    of other rows do not underflow beside an outlier.
    """

    both = [queries] if gallery is queries else [queries, gallery]
    powers = [np.frexp(np.maximum(x.max(1), -x.min(1)))[1] for x in both]
    if not by_row:
        largest = max(max(x.max(), -x.min()) for x in both)
        powers = [np.full(len(x), np.frexp(largest)[1]) for x in both]
    if max(np.max(np.abs(power)) for power in powers) > _LARGEST_POWER:
        if not by_row:
            powers = [power - _LARGEST_POWER for power in powers]
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
