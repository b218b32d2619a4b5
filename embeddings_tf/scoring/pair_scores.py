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
    same = _same_class_pairs(class_ids, most, rng)
    length = len(class_ids)
    every = length * (length - 1) // 2
    if every <= 4 * most:
        first, second = np.triu_indices(length, 1)
    else:
        # More than enough, because some are drawn twice or of one class.
        drawn = rng.integers(length, size=(8 * most, 2))
        drawn = np.unique(np.sort(drawn, axis=1), axis=0)
        first, second = drawn.T
    different = np.flatnonzero(class_ids[first] != class_ids[second])
    if len(different) > most:
        different = rng.choice(different, most, replace=False)
    return (
        np.concatenate([same[:, 0], first[different]]),
        np.concatenate([same[:, 1], second[different]]),
    )


def _same_class_pairs(class_ids: np.ndarray, most: int, rng) -> np.ndarray:
    """Returns rows of pairs `(pairs, 2)` of one class, at most `most`.

    Pairs have ranks: class by class, row by row. Only the drawn ranks become
    pairs, because large classes have more pairs than fit into memory.
    """
    order = np.argsort(class_ids, kind="stable")
    ids = class_ids[order]
    # In each class, a row makes pairs with the rows after it.
    after = np.searchsorted(ids, ids, side="right") - 1 - np.arange(len(ids))
    ends = np.cumsum(after)
    total = int(ends[-1]) if len(ends) else 0
    if total <= most:
        ranks = np.arange(total)
    else:
        ranks = rng.choice(total, most, replace=False)
    first = np.searchsorted(ends, ranks, side="right")
    second = first + 1 + ranks - (ends[first] - after[first])
    return np.stack([order[first], order[second]], axis=1)
