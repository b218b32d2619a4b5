"""Approximate nearest rows of a large gallery, by FAISS."""

from collections.abc import Callable

import numpy as np

from embeddings_tf.models.method import Method
from embeddings_tf.ops.nearest import Distances

# Links per row of the graph, FAISS's usual value.
_LINKS = 32
# Rows that are added to the graph at once.
BLOCK = 4096


class ApproximateIndex:
    """A graph of the gallery's rows (HNSW) that FAISS searches.

    Args:
        method: Defines points and distance.
        gallery: Embeddings `(m, width)`.
        progress: Function called with the number of rows after each block that
            is added to the graph; None: none.

    Raises:
        ValueError: If FAISS is not installed.
    """

    def __init__(
        self,
        method: Method,
        gallery: np.ndarray,
        progress: Callable[[int], object] | None = None,
    ):
        try:
            import faiss
        except ImportError as error:
            raise ValueError(
                "Approximate search needs FAISS: pip install faiss-cpu. The "
                'exact search, search="exact", needs nothing.'
            ) from error
        self._method = method
        self._gallery = self._points(gallery)
        for first in range(0, len(self._gallery), BLOCK):
            rows = self._unit(self._gallery[first : first + BLOCK])
            if self._method.distance == "cosine":
                # A direction of their own, as in the exact search.
                rows[:, -1] = ~rows.any(axis=1)
            if not first:
                self._index = faiss.IndexHNSWFlat(rows.shape[1], _LINKS)
            self._index.add(rows)
            if progress is not None:
                progress(len(rows))

    def search(
        self, queries: np.ndarray, count: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns distances and rows `(queries, count)`, nearest first.

        The distances are of the embeddings in float32. Which rows are found is
        approximate.
        """
        if not len(queries):
            return np.zeros((0, count)), np.zeros((0, count), np.int64)
        queries = self._points(queries)
        _, rows = self._index.search(self._unit(queries), count)
        if rows.min() < 0:
            raise ValueError(
                f"FAISS found fewer than {count} neighbours; ask for fewer, or "
                'use search="exact".'
            )
        # Only what was found: a gallery of millions would be copied each time.
        found, columns = np.unique(rows, return_inverse=True)
        measure = Distances(
            queries, self._gallery[found], self._method.distance
        )
        places = np.repeat(np.arange(len(queries)), count)
        squares = measure.exact(places, columns.ravel()).reshape(rows.shape)
        order = np.argsort(squares, axis=1, kind="stable")
        rows = np.take_along_axis(rows, order, axis=1).astype(np.int64)
        squares = np.take_along_axis(squares, order, axis=1)
        if self._method.distance == "cosine":
            return squares / 2, rows
        return np.sqrt(squares), rows

    def _points(self, embeddings) -> np.ndarray:
        points = self._method.points(embeddings).numpy()
        return np.ascontiguousarray(points, np.float32)

    def _unit(self, points: np.ndarray) -> np.ndarray:
        """Rows of length 1, and a column of 0, if the cosine compares."""
        if self._method.distance != "cosine":
            return points
        lengths = np.linalg.norm(points, axis=1, keepdims=True)
        unit = points / np.where(lengths > 0, lengths, 1)
        return np.pad(unit, [(0, 0), (0, 1)])
