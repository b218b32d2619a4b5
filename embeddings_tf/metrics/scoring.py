"""Scores of trials: whether two examples are in the same class.

A score is a function of embeddings `(m, dim)` and `(n, dim)` that returns
`(m, n)`, larger for more similar rows: `cosine_scores`, `models.PLDA.score`,
`layers.PairDistance.all_pairs`, or your own function. The functions here call
a score block by block.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.score_calls import call_score
from embeddings_tf.metrics.score_calls import two_sides
from embeddings_tf.ops import arguments
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.blocks import blocks


def score_all_pairs(
    score: Callable, first: Any, second: Any = None, *, block_size: int = 1024
) -> np.ndarray:
    """Scores each row of `first` with each row of `second`, in blocks.

    Use it if the scores fit in memory, but the intermediate tensors of `score`
    do not. If the scores do not fit either, use `stream_trials`.

    Args:
        score: Function of `(a, dim)` and `(b, dim)` that returns `(a, b)`,
            such as `cosine_scores`, `models.PLDA.score` or
            `layers.PairDistance.all_pairs`.
        first: `(m, dim)`.
        second: `(n, dim)`. None: `first`; each row is also scored with itself.
        block_size: Largest number of rows per side in a call of `score`.

    Returns:
        `(m, n)`, with the dtype of the scores. If blocks differ in dtype, with
        the dtype to which NumPy promotes them.

    Raises:
        ValueError: If arrays are empty, not finite, not of rank 2 or of
            different `dim`, or if `score` returns NaN or another shape.

    Example:

    >>> embeddings = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 5.0]])
    >>> embeddings_tf.metrics.score_all_pairs(
    ...     embeddings_tf.metrics.cosine_scores, embeddings, block_size=2
    ... )
    array([[1., 0., 0.],
           [0., 1., 1.],
           [0., 1., 1.]])
    """
    first, second = two_sides(first, first if second is None else second)
    block_size = positive_integer("block_size", block_size)
    scores = np.empty(0)
    for rows in blocks(len(first), block_size):
        for columns in blocks(len(second), block_size):
            found = call_score(score, first[rows], second[columns])
            if not scores.size:
                scores = np.empty((len(first), len(second)), found.dtype)
            # A function may return integers for some rows and floats for
            # others.
            dtype = np.promote_types(scores.dtype, found.dtype)
            scores = scores.astype(dtype, copy=False)
            scores[rows, columns] = found
    return scores


def stream_trials(
    score: Callable,
    embeddings: Any,
    labels: Any,
    update: Callable,
    *,
    test: Any = None,
    test_labels: Any = None,
    block_size: int = 1024,
) -> int:
    """Scores all pairs of examples and passes the scores on block by block.

    Use it for verification over all trials of a test set, which do not fit in
    memory: 10,000 examples have 50 million pairs. Each unordered pair of two
    examples is one trial: the earlier example is enrolled, the later example
    is tested. With `test`, each embedding is enrolled and each row of `test`
    is tested. If `embeddings` has one row for each class, these are trials of
    claimed classes ("type II").

    Args:
        score: As in `score_all_pairs`; the first argument is enrolled.
        embeddings: `(m, dim)`.
        labels: Integers `(m,)`.
        update: Function of `scores`, `(n,)`, and `is_target`, `(n,)` booleans,
            such as the `update` of `TrialHistogram`. Called for each block.
        test: Embeddings `(n, dim)`. None: pairs among `embeddings`.
        test_labels: Integers `(n,)`, given with `test`.
        block_size: Largest number of rows per side in a call of `score`.
            Memory grows with its square: tens of MiB for 1024.

    Returns:
        The number of trials: `m (m - 1) / 2`, or `m n` with `test`.

    Raises:
        ValueError: As `score_all_pairs`, if lengths differ, if only one of
            `test` and `test_labels` is given, or if there are no pairs.

    Example:

    >>> histogram = embeddings_tf.metrics.TrialHistogram()
    >>> embeddings_tf.metrics.stream_trials(
    ...     embeddings_tf.metrics.cosine_scores,
    ...     [[1.0, 0.0], [2.0, 1.0], [0.0, 1.0], [-1.0, 3.0]],
    ...     [7, 7, 8, 8],
    ...     histogram.update,
    ... )
    6
    >>> histogram.roc_auc()
    (1.0, 0.0)
    """
    labels = arrays.integers("labels", labels, 1, "(m,)")
    arguments.function("update", update, "(scores, is_target)")
    among = test is None
    if among != (test_labels is None):
        raise ValueError(
            "`test` and `test_labels` must be passed together; received only "
            f"`{'test_labels' if among else 'test'}`. Pass both or neither."
        )
    first, second = two_sides(
        embeddings,
        embeddings if among else test,
        ("embeddings", "embeddings" if among else "test"),
    )
    arrays.same_length(embeddings=first, labels=labels)
    if among:
        test_labels = labels
        if len(first) < 2:
            raise ValueError(
                "A trial needs two examples; received one row of `embeddings`. "
                "Pass more, or `test`."
            )
    else:
        test_labels = arrays.integers("test_labels", test_labels, 1, "(n,)")
        arrays.same_length(test=second, test_labels=test_labels)
    block_size = positive_integer("block_size", block_size)
    num_trials = 0
    for rows in blocks(len(first), block_size):
        for columns in blocks(len(second), block_size):
            if among and columns.start < rows.start:
                continue
            scores = call_score(score, first[rows], second[columns])
            is_target = labels[rows, None] == test_labels[columns]
            if among and columns == rows:
                later = np.triu(np.ones(scores.shape, bool), 1)
                scores, is_target = scores[later], is_target[later]
            if scores.size:
                update(scores.reshape(-1), is_target.reshape(-1))
            num_trials += scores.size
    return num_trials
