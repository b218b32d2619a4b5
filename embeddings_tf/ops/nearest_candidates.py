"""Proposes nearest gallery rows by matrix products in float32."""

import collections
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from embeddings_tf.ops.blocks import blocks

# Queries and gallery rows of one matrix product.
_TILE = 2048
# A tile's limit for new candidates is the least of this many parts of a row.
MOST_CANDIDATES = 64
# More new candidates than this many times their number call for such a limit.
_MANY = 2


def nearest_candidates(
    queries: np.ndarray,
    gallery: np.ndarray,
    num: int,
    progress: Callable[[int, int], object] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns squared distances `(n, num)`, ascending, and gallery rows.

    The products are computed in float32, so both have rounding errors. If the
    gallery is the array of the queries, a product serves both of its rows,
    which takes half the time. Tiles of the matrix of distances are computed in
    as many threads as NumPy uses for products.

    Args:
        queries: `(n, dim)`, float32, with finite squares of distances.
        gallery: `(m, dim)`, likewise.
        num: Number of candidates, at most `m` and `MOST_CANDIDATES`.
        progress: Function called after each tile with the number of tiles
            that are done, and of all tiles.
    """
    from threadpoolctl import ThreadpoolController

    among_themselves = queries is gallery
    distances = np.full((len(queries), num), np.inf, np.float32)
    places = np.zeros((len(queries), num), np.int64)
    tiles = [
        (rows, columns)
        for rows in blocks(len(queries), _TILE)
        for columns in blocks(len(gallery), _TILE)
        if not among_themselves or rows.start <= columns.start
    ]
    # A product of these rows is half of a squared distance.
    left = _with_columns(-queries, _half_squares(queries), 1)
    right = _with_columns(gallery, 1, _half_squares(gallery))
    own = threading.local()

    def near(tile):
        """Rows, gallery rows and distances of pairs that may be nearest."""
        rows, columns = tile
        if not hasattr(own, "buffer"):
            own.buffer = np.empty(_TILE**2, np.float32)
        shape = rows.stop - rows.start, columns.stop - columns.start
        half = own.buffer[: shape[0] * shape[1]].reshape(shape)
        np.matmul(left[rows], right[columns].T, out=half)
        row, column = _below(half, distances[rows, -1], num, 1)
        found = [(row + rows.start, column + columns.start, half[row, column])]
        if among_themselves and rows != columns:
            row, column = _below(half, distances[columns, -1], num, 0)
            found.append(
                (column + columns.start, row + rows.start, half[row, column])
            )
        return found

    blas = ThreadpoolController().select(user_api="blas")
    threads = max((found["num_threads"] for found in blas.info()), default=1)
    with blas.limit(limits=1), ThreadPoolExecutor(threads) as pool:
        # Few tiles wait for their turn, because each holds its candidates.
        waiting: collections.deque = collections.deque()
        done = 0
        for tile in [*tiles, *[None] * threads]:
            if tile is not None:
                waiting.append(pool.submit(near, tile))
            if waiting and (tile is None or len(waiting) > threads):
                for pairs in waiting.popleft().result():
                    _insert(distances, places, *pairs)
                done += 1
                if progress is not None:
                    progress(done, len(tiles))
    return np.maximum(2 * distances, 0), places


def _below(
    half: np.ndarray, limit: np.ndarray, num: int, axis: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of a tile with distances below those found so far.

    Args:
        half: A tile of halved squared distances.
        limit: The largest candidate of each row (`axis` 1) or column (0).
        axis: The axis along which candidates are found.
    """
    marked = half < np.expand_dims(limit, axis)
    size = half.shape[axis] // MOST_CANDIDATES
    if size > 1 and np.count_nonzero(marked) > _MANY * num * len(limit):
        # For instance the first tile. The minima of parts of a row contain
        # `num` of its distances, so the `num`-th of them is a limit.
        whole = half[:, : size * MOST_CANDIDATES]
        parts = (len(half), size, MOST_CANDIDATES)
        if axis == 0:
            whole = half[: size * MOST_CANDIDATES]
            parts = (size, MOST_CANDIDATES, half.shape[1])
        least = np.sort(np.min(whole.reshape(parts), axis), axis)
        least = np.nextafter(np.take(least, num - 1, axis), np.float32(np.inf))
        marked = half < np.expand_dims(np.minimum(limit, least), axis)
    return np.divmod(np.flatnonzero(marked), half.shape[1])


def _insert(distances, places, rows, columns, found):
    """Adds gallery rows `columns[i]` to the candidates of `rows[i]`."""
    order = np.argsort(rows, kind="stable")
    changed, first, count = np.unique(
        rows[order], return_index=True, return_counts=True
    )
    num, width = distances.shape[1], int(count.max(initial=0))
    at = np.repeat(np.arange(len(changed)), count)
    after = num + np.arange(len(rows)) - np.repeat(first, count)

    def merged(kept, new, empty):
        both = np.full((len(changed), num + width), empty, kept.dtype)
        both[:, :num] = kept[changed]
        both[at, after] = new[order]
        return both

    both, both_places = (
        merged(distances, found, np.inf),
        merged(places, columns, 0),
    )
    best = np.argsort(both, axis=1, kind="stable")[:, :num]
    distances[changed] = np.take_along_axis(both, best, axis=1)
    places[changed] = np.take_along_axis(both_places, best, axis=1)


def _half_squares(x: np.ndarray) -> np.ndarray:
    return np.einsum("nd,nd->n", x, x, dtype=np.float64) / 2


def _with_columns(x, *columns):
    wider = np.empty((len(x), x.shape[1] + len(columns)), np.float32)
    wider[:, : x.shape[1]] = x
    for place, column in enumerate(columns, x.shape[1]):
        wider[:, place] = column
    return wider
