"""Exact nearest rows of a gallery of embeddings."""

import functools

import numpy as np
import tensorflow as tf

from embeddings_tf.metrics.gallery_search import Search
from embeddings_tf.metrics.gallery_search import blocks_by_score
from embeddings_tf.models.method import Method
from embeddings_tf.ops.nearest import Distances
from embeddings_tf.ops.nearest import nearest

# Extra candidates, because scores of all pairs may round more than scores of
# pairs: the next rows may have the higher scores.
_SPARE = 6


def distances_and_rows(
    method: Method, queries, gallery, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Finds the `count` nearest rows by the method's own distance.

    Points are compared; a Gaussian becomes its mean.

    Returns:
        Distances and gallery rows, both `(queries, count)`, nearest first:
        Euclidean distances, or 1 minus the cosine for methods that compare by
        cosine.
    """
    if not len(queries):
        return np.zeros((0, count)), np.zeros((0, count), np.int64)
    queries, gallery = (method.points(x).numpy() for x in (queries, gallery))
    measure = Distances(queries, gallery, method.distance)
    rows = np.empty((len(queries), count), np.int64)
    for block, places in nearest(measure, np.arange(len(queries)), count):
        rows[block] = places
    squares = measure.exact(
        np.repeat(np.arange(len(queries)), count), rows.ravel()
    ).reshape(rows.shape)
    if method.distance == "cosine":
        return squares / 2, rows
    # Distances are scaled by a power of 2 if squares would overflow.
    scale = _scale([queries, gallery], [measure.queries, measure.gallery])
    return np.sqrt(squares) * scale, rows


def _scale(before: list[np.ndarray], after: list[np.ndarray]) -> float:
    """Returns the factor from scaled rows back to the given rows."""
    for given, scaled in zip(before, after, strict=True):
        place = np.unravel_index(np.argmax(np.abs(scaled)), scaled.shape)
        if scaled[place]:
            return float(given[place] / scaled[place])
    return 1.0


def scores_and_rows(
    method: Method, queries, gallery, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Finds the `count` rows with the highest score of the method's pairs.

    Returns:
        Scores and gallery rows, both `(queries, count)`, highest first.
    """
    seed = tf.constant([0, 0])
    score = functools.partial(method.score_all_pairs, seed=seed)
    none = np.zeros(0, np.int64)
    search = Search(
        queries,
        none,
        gallery,
        none,
        lambda first, second: score(first, second).numpy(),
        among_themselves=False,
        exclude=None,
        rows=np.arange(len(queries)),
    )
    num_candidates = min(count + _SPARE, len(gallery))
    rows = np.empty((len(queries), num_candidates), np.int64)
    for block, places in blocks_by_score(search, num_candidates):
        rows[block] = places
    scores = np.stack(
        [
            method.score_pairs(queries, gallery[column], seed=seed).numpy()
            for column in rows.T
        ],
        axis=1,
    )
    order = np.argsort(-scores, axis=1, kind="stable")[:, :count]
    return (
        np.take_along_axis(scores, order, axis=1),
        np.take_along_axis(rows, order, axis=1),
    )
