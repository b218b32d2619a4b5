"""Scores of pairs of labelled embeddings."""

import numpy as np
import tensorflow as tf

from embeddings_tf.models.method import Method

# Number of pairs that are scored at once.
_BLOCK = 8192


def score_pairs(method: Method, first, second) -> np.ndarray:
    """Scores of two sets of embeddings row by row, `(n,)`, block by block."""
    seed = tf.constant([0, 0])
    parts = [np.zeros(0, np.float32)]
    for start in range(0, len(first), _BLOCK):
        rows = slice(start, start + _BLOCK)
        found = method.score_pairs(first[rows], second[rows], seed=seed)
        parts.append(np.asarray(found))
    return np.concatenate(parts)


def draw_pairs(
    class_ids: np.ndarray, most: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns rows of pairs, both `(pairs,)`, of one class and of two.

    All pairs if there are at most `most` of a kind, otherwise as many drawn at
    random without repetition.
    """
    rng = np.random.default_rng(seed)
    order = np.argsort(class_ids, kind="stable")
    ids = class_ids[order]
    rows = np.arange(len(ids))
    after_class = np.searchsorted(ids, ids, side="right")
    found = np.concatenate(
        [
            _drawn(rows + 1, after_class, most, rng),
            _drawn(after_class, np.full_like(rows, len(ids)), most, rng),
        ]
    )
    first, second = np.sort(order[found], axis=1).T
    return first, second


def _drawn(begins, ends, most: int, rng) -> np.ndarray:
    """Returns pairs `(pairs, 2)` of a row and its partners, at most `most`.

    The partners of row i are the rows from `begins[i]` to before `ends[i]`.
    Pairs have ranks, row by row. Only the drawn ranks become pairs, because
    all pairs may not fit into memory.
    """
    counts = ends - begins
    after = np.cumsum(counts)
    total = int(after[-1]) if len(after) else 0
    if total <= most:
        ranks = np.arange(total)
    else:
        ranks = rng.choice(total, most, replace=False)
    first = np.searchsorted(after, ranks, side="right")
    second = begins[first] + ranks - (after[first] - counts[first])
    return np.stack([first, second], axis=1)
