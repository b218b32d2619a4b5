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
    same = _same_class_pairs(class_ids)
    if len(same) > most:
        same = same[rng.choice(len(same), most, replace=False)]
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


def _same_class_pairs(class_ids: np.ndarray) -> np.ndarray:
    pairs = [np.zeros((0, 2), np.int64)]
    for number in np.unique(class_ids):
        rows = np.flatnonzero(class_ids == number)
        first, second = np.triu_indices(len(rows), 1)
        pairs.append(np.stack([rows[first], rows[second]], axis=1))
    return np.concatenate(pairs)
