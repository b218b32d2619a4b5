"""Scores of enrolled classes, and of the trials in a list."""

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.clustering import class_means
from embeddings_tf.metrics.score_calls import call_score
from embeddings_tf.metrics.score_calls import two_sides
from embeddings_tf.metrics.scoring import score_all_pairs
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.blocks import blocks


def score_enrollments(
    score: Callable,
    enroll: Any,
    enroll_labels: Any,
    test: Any,
    combine: str = "embedding",
    *,
    block_size: int = 1024,
) -> tuple[np.ndarray, np.ndarray]:
    """Scores classes that are enrolled with several examples ("type I").

    Use it if several recordings or images represent an identity. For PLDA,
    `models.PLDA.score` with `enroll_labels` is the exact score.

    Args:
        score: As in `score_all_pairs`; the first argument is enrolled.
        enroll: Embeddings `(m, dim)`.
        enroll_labels: Integers `(m,)`.
        test: Embeddings `(n, dim)`.
        combine: "embedding": the score of the class's mean embedding; "mean" or
            "max": the mean or largest score of its examples.
        block_size: Largest number of rows per side in a call of `score`.

    Returns:
        The classes, ascending, `(num_classes,)`, and their scores,
        `(num_classes, n)`.

    Raises:
        ValueError: As `score_all_pairs`, if lengths differ, or if `combine` is
            not one of its choices.

    Example:

    >>> classes, scores = embeddings_tf.metrics.score_enrollments(
    ...     embeddings_tf.metrics.cosine_scores,
    ...     enroll=[[1.0, 0.0], [0.0, 1.0], [-2.0, 0.0]],
    ...     enroll_labels=[5, 5, 9],
    ...     test=[[1.0, 0.0]],
    ...     combine="max",
    ... )
    >>> classes.tolist(), scores.tolist()
    ([5, 9], [[1.0], [-1.0]])
    """
    one_of("combine", combine, ("embedding", "mean", "max"))
    enroll, test = two_sides(enroll, test, ("enroll", "test"))
    enroll_labels = arrays.integers("enroll_labels", enroll_labels, 1, "(m,)")
    arrays.same_length(enroll=enroll, enroll_labels=enroll_labels)
    block_size = positive_integer("block_size", block_size)
    order = np.argsort(enroll_labels, kind="stable")
    classes, starts, counts = np.unique(
        enroll_labels[order], return_index=True, return_counts=True
    )
    if combine == "embedding":
        enroll = class_means(enroll, enroll_labels)
    else:
        enroll = enroll[order]
    found = []
    for columns in blocks(len(test), block_size):
        scores = score_all_pairs(
            score, enroll, test[columns], block_size=block_size
        )
        if combine == "mean":
            scores = _mean_scores(scores, starts, counts)
        elif combine == "max":
            scores = np.maximum.reduceat(scores, starts, axis=0)
        found.append(scores)
    return classes, np.concatenate(found, axis=1)


def score_trials(
    score_pairs: Callable,
    embeddings: Any,
    names: Sequence,
    trials: Any,
    *,
    block_size: int = 65536,
) -> np.ndarray:
    """Scores the trials of a list, which refers to examples by name.

    Use it for published lists of trials, such as VoxCeleb's lists. Embed each
    recording once for all of its trials.

    Args:
        score_pairs: Function of two arrays `(b, dim)` that returns `(b,)`, such
            as `cosine_score_pairs`, `models.PLDA.score_pairs`, or, for a
            `layers.PairDistance`, `lambda a, b: distance((a, b))`.
        embeddings: `(m, dim)`.
        names: `(m,)`, names of the embeddings: distinct strings or integers.
        trials: `(n, 2)`, a sequence of pairs of names, the enrolled first.
        block_size: Largest number of trials in a call of `score_pairs`.

    Returns:
        `(n,)`, in the order of the list.

    Raises:
        ValueError: If arrays are empty, not finite or of the wrong rank, if
            names are not one per embedding, occur twice or are unknown, or if
            `score_pairs` returns NaN or another shape.

    Example:

    >>> embeddings_tf.metrics.score_trials(
    ...     embeddings_tf.metrics.cosine_score_pairs,
    ...     embeddings=[[1.0, 0.0], [0.0, 1.0], [0.0, 3.0]],
    ...     names=["a.wav", "b.wav", "c.wav"],
    ...     trials=[("a.wav", "b.wav"), ("b.wav", "c.wav")],
    ... )
    array([0., 1.])
    """
    embeddings = arrays.numbers("embeddings", embeddings, 2, "(m, dim)")
    block_size = positive_integer("block_size", block_size)
    names = _names("names", names)
    arrays.same_length(embeddings=embeddings, names=names)
    rows = {name: row for row, name in enumerate(names)}
    if len(rows) < len(names):
        repeated = next(n for i, n in enumerate(names) if rows[n] != i)
        raise ValueError(
            "`names` must be distinct; received "
            f"{repeated!r} more than once. Drop the copies."
        )
    if not hasattr(trials, "__iter__") or isinstance(trials, str):
        raise ValueError(
            "`trials` must be a sequence of pairs of names; received "
            f"{trials!r}."
        )
    trials = [tuple(_names("trials", trial)) for trial in trials]
    wrong = next((trial for trial in trials if len(trial) != 2), None)
    if wrong is not None or not trials:
        raise ValueError(
            "`trials` must be pairs of names, (enrolled, tested), at least "
            f"one; received {trials if wrong is None else wrong!r}. Pass "
            "the targets separately."
        )
    unknown = {name for trial in trials for name in trial if name not in rows}
    if unknown:
        some = ", ".join(sorted(map(repr, unknown))[:3])
        raise ValueError(
            "`trials` must only contain names in `names`; received "
            f"{len(unknown)} unknown names, such as {some}; a known name "
            f"is {next(iter(rows))!r}. Compare their spelling, or embed "
            "the missing examples."
        )
    pairs = np.array([[rows[a], rows[b]] for a, b in trials])
    return np.concatenate(
        [
            call_score(
                score_pairs, embeddings[first], embeddings[second], pairs=True
            )
            for first, second in (
                pairs[block].T for block in blocks(len(pairs), block_size)
            )
        ]
    )


def _mean_scores(
    scores: np.ndarray, starts: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """Returns means of groups of rows, in float64."""
    # Divided first: a sum of large scores may not be finite.
    shares = scores / np.repeat(counts, counts)[:, None].astype(np.float64)
    with np.errstate(invalid="ignore"):
        means = np.add.reduceat(shares, starts, axis=0)
    if np.isnan(means).any():
        raise ValueError(
            "Scores of one class must not contain both -inf and inf, whose "
            "mean is undefined; received both from `score`. Use combine='max'."
        )
    return means


def _names(name: str, value: Any) -> list:
    """Returns a list; ValueError unless `value` is a sequence of names."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError("it is a string")
        found = list(value)
        hash(tuple(found))
    except TypeError as error:
        raise ValueError(
            f"`{name}` must be sequences of strings or integers; received "
            f"{value!r}: {error}. Pass lists, or NumPy arrays."
        ) from error
    return found
