"""Scores of trials: whether two examples are of the same class.

A score is a function of embeddings `(m, dim)` and `(n, dim)` that returns
`(m, n)`, larger where a row of the one is more the same as a row of the other:
`cosine_scores`, `models.PLDA.score`, `layers.PairDistance.all_pairs`, or a
function of the user's. What is here feeds such functions block by block.
"""

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops import arguments
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import positive_integer


def cosine_scores(first: Any, second: Any) -> np.ndarray:
    """The cosine of each row of `first` with each row of `second`.

    Use it where embeddings were trained with cosines or normalised, and as the
    score that needs no training.

    Formula:

    ```
    cos(a, b) = a . b / (|a| |b|)
    ```

    Args:
        first: `(m, dim)`, of any scale.
        second: `(n, dim)`.

    Returns:
        `(m, n)` in `[-1, 1]`, float32 if both are, else float64. A row of
        zeros has cosine 0 with all rows.

    Raises:
        ValueError: If arrays are empty, not finite, not of rank 2 or of
            different `dim`.

    Example:

    >>> embeddings = [[0.0, 2.0], [3.0, 0.0]]
    >>> embeddings_tf.metrics.cosine_scores([[1.0, 0.0]], embeddings)
    array([[0., 1.]])
    """
    first, second = _two_sides(first, second)
    return np.clip(_unit(first) @ _unit(second).T, -1, 1)


def cosine_score_pairs(first: Any, second: Any) -> np.ndarray:
    """The cosine of row i of `first` with row i of `second`.

    Use it with `score_trials`. Formula and range are those of `cosine_scores`.

    Args:
        first, second: `(n, dim)`.

    Returns:
        `(n,)` in `[-1, 1]`.

    Raises:
        ValueError: As `cosine_scores`, or if the lengths differ.

    Example:

    >>> embeddings_tf.metrics.cosine_score_pairs([[3.0, 4.0]], [[4.0, 3.0]])
    array([0.96])
    """
    first, second = _two_sides(first, second)
    arrays.same_length(first=first, second=second)
    cosines = np.einsum("nd,nd->n", _unit(first), _unit(second))
    return np.clip(cosines, -1, 1)


def fuse_scores(probability: Any, cosine: Any) -> np.ndarray:
    """The mean of a learned probability and a cosine, both from 0 to 1.

    Use it to combine a learned distance with the cosine of its embeddings,
    which often beats either ("cosine + E2E").

    Formula:

    ```
    (probability + (cosine + 1) / 2) / 2
    ```

    Reference:

    - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Tables 1 and 2;
      the formula is that of the authors' code

    Args:
        probability: That both are of the same class, `(n,)` or `(m, n)`; the
            sigmoid of the logit of `layers.PairDistance`.
        cosine: In `[-1, 1]`, same shape.

    Returns:
        The same shape, in `[0, 1]`.

    Raises:
        ValueError: If shapes differ or values are out of range, such as logits.

    Example:

    >>> embeddings_tf.metrics.fuse_scores([0.9, 0.1], [1.0, 0.0])
    array([0.95, 0.3 ])
    """
    shape = "(n,) or (m, n)"
    probability = arguments.array("probability", probability)
    ndim = 2 if probability.ndim == 2 else 1
    probability = arrays.numbers("probability", probability, ndim, shape)
    cosine = arrays.numbers("cosine", cosine, ndim, shape)
    if probability.shape != cosine.shape:
        raise ValueError(
            "`probability` and `cosine` must be of the same trials; received "
            f"shapes {probability.shape} and {cosine.shape}."
        )
    if not np.all((probability >= 0) & (probability <= 1)):
        raise ValueError(
            "`probability` must be between 0 and 1; received values from "
            f"{np.min(probability)} to {np.max(probability)}. Pass the sigmoid "
            "of a logit."
        )
    if not np.all(np.abs(cosine) <= 1):
        raise ValueError(
            "`cosine` must be between -1 and 1; received values from "
            f"{np.min(cosine)} to {np.max(cosine)}. Pass `cosine_scores`."
        )
    return (probability + (cosine + 1) / 2) / 2


def score_all_pairs(
    score: Callable, first: Any, second: Any = None, *, block_size: int = 1024
) -> np.ndarray:
    """The scores of each row of `first` with each row of `second`, in blocks.

    Use it where the scores fit in memory but what `score` needs on the way
    does not; else `stream_trials`.

    Args:
        score: Function of `(a, dim)` and `(b, dim)` that returns `(a, b)`,
            such as `cosine_scores`, `models.PLDA.score` or
            `layers.PairDistance.all_pairs`.
        first: `(m, dim)`.
        second: `(n, dim)`. None: `first`, all with all, themselves included.
        block_size: Rows of either side that `score` gets at most.

    Returns:
        `(m, n)`, of the dtype of the scores.

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
    first, second = _two_sides(first, first if second is None else second)
    block_size = positive_integer("block_size", block_size)
    scores = None
    for rows in _blocks(len(first), block_size):
        for columns in _blocks(len(second), block_size):
            found = _call(score, first[rows], second[columns])
            if scores is None:
                scores = np.empty((len(first), len(second)), found.dtype)
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
    """Scores all pairs of a set and hands them on block by block.

    Use it for verification over all trials of a test set, which are too many
    to hold: 10,000 examples make 50 million. Each unordered pair is one trial,
    its earlier example enrolled, its later one tested, none with itself. With
    `test` each embedding is enrolled, and each of `test` tested; so is a
    claimed class ("type II"), if `embeddings` has one row for each class.

    Args:
        score: As in `score_all_pairs`; the first argument is the enrolled.
        embeddings: `(m, dim)`.
        labels: Integers `(m,)`.
        update: Function of `scores`, `(n,)`, and `is_target`, `(n,)` booleans,
            such as the `update` of `TrialHistogram`. Called for each block.
        test: Embeddings `(n, dim)`. None: pairs among `embeddings`.
        test_labels: Integers `(n,)`, given with `test`.
        block_size: Rows of either side that `score` gets at most. Memory is in
            proportion to its square: tens of MiB for 1024.

    Returns:
        The number of trials: `m (m - 1) / 2`, or `m n` with `test`.

    Raises:
        ValueError: As `score_all_pairs`, if lengths differ, if only one of
            `test` and `test_labels` is given, or if there is no pair.

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
            "`test` and `test_labels` belong together; received only "
            f"`{'test_labels' if among else 'test'}`. Pass both or neither."
        )
    first, second = _two_sides(
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
    for rows in _blocks(len(first), block_size):
        for columns in _blocks(len(second), block_size):
            if among and columns.start < rows.start:
                continue
            scores = _call(score, first[rows], second[columns])
            is_target = labels[rows, None] == test_labels[columns]
            if among and columns == rows:
                later = np.triu(np.ones(scores.shape, bool), 1)
                scores, is_target = scores[later], is_target[later]
            if scores.size:
                update(scores.reshape(-1), is_target.reshape(-1))
            num_trials += scores.size
    return num_trials


def score_enrolments(
    score: Callable,
    enrol: Any,
    enrol_labels: Any,
    test: Any,
    combine: str = "embedding",
    *,
    block_size: int = 1024,
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of classes that are enrolled with several examples ("type I").

    Use it where an identity is known by several recordings or images. For PLDA
    `models.PLDA.score` with `enrol_labels` is the exact answer.

    Args:
        score: As in `score_all_pairs`; the first argument is the enrolled.
        enrol: Embeddings `(m, dim)`.
        enrol_labels: Integers `(m,)`.
        test: Embeddings `(n, dim)`.
        combine: "embedding": the score of the average embedding of the class;
            "mean" or "max": the average or the largest score of its examples.
        block_size: Rows of tests, and of enrolments, that `score` gets at most.

    Returns:
        The classes, ascending, `(num_classes,)`, and their scores,
        `(num_classes, n)`.

    Raises:
        ValueError: As `score_all_pairs`, if lengths differ, or if `combine` is
            another.

    Example:

    >>> classes, scores = embeddings_tf.metrics.score_enrolments(
    ...     embeddings_tf.metrics.cosine_scores,
    ...     enrol=[[1.0, 0.0], [0.0, 1.0], [-2.0, 0.0]],
    ...     enrol_labels=[5, 5, 9],
    ...     test=[[1.0, 0.0]],
    ...     combine="max",
    ... )
    >>> classes.tolist(), scores.tolist()
    ([5, 9], [[1.0], [-1.0]])
    """
    one_of("combine", combine, ("embedding", "mean", "max"))
    enrol, test = _two_sides(enrol, test, ("enrol", "test"))
    enrol_labels = arrays.integers("enrol_labels", enrol_labels, 1, "(m,)")
    arrays.same_length(enrol=enrol, enrol_labels=enrol_labels)
    block_size = positive_integer("block_size", block_size)
    order = np.argsort(enrol_labels, kind="stable")
    enrol = enrol[order]
    classes, starts, counts = np.unique(
        enrol_labels[order], return_index=True, return_counts=True
    )
    if combine == "embedding":
        scaled, exponent = arrays.scaled(enrol)
        means = np.add.reduceat(scaled, starts, axis=0) / counts[:, None]
        enrol = np.ldexp(means, exponent).astype(enrol.dtype)
    found = []
    for columns in _blocks(len(test), block_size):
        scores = score_all_pairs(
            score, enrol, test[columns], block_size=block_size
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
    """Scores of the trials of a list, which names its examples.

    Use it for published lists of trials, such as those of VoxCeleb: each
    recording is embedded once, whatever the number of its trials.

    Args:
        score_pairs: Function of two arrays `(b, dim)` that returns `(b,)`, such
            as `cosine_score_pairs`, `models.PLDA.score_pairs`, or, for a
            `layers.PairDistance`, `lambda a, b: distance((a, b))`.
        embeddings: `(m, dim)`.
        names: `(m,)`, of the embeddings: strings or integers, each once.
        trials: `(n, 2)`, a sequence of pairs of names, the enrolled first.
        block_size: Trials that `score_pairs` gets at most.

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
            "`names` must name each embedding by itself; received "
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
            f"one; received {trials if wrong is None else wrong!r}. Keep "
            "whether they are targets apart."
        )
    unknown = {name for trial in trials for name in trial if name not in rows}
    if unknown:
        some = ", ".join(sorted(map(repr, unknown))[:3])
        raise ValueError(
            "`trials` may only name what `names` names; received "
            f"{len(unknown)} unknown names, such as {some}, beside known ones "
            f"such as {next(iter(rows))!r}. Compare how both are spelled, or "
            "embed what is missing."
        )
    pairs = np.array([[rows[a], rows[b]] for a, b in trials])
    return np.concatenate(
        [
            _call(score_pairs, *embeddings[pairs[block].T], pairs=True)
            for block in _blocks(len(pairs), block_size)
        ]
    )


def _mean_scores(
    scores: np.ndarray, starts: np.ndarray, counts: np.ndarray
) -> np.ndarray:
    """Means of groups of rows, in float64."""
    # Divided first: a sum of large scores may not be finite.
    shares = scores / np.repeat(counts, counts)[:, None].astype(np.float64)
    with np.errstate(invalid="ignore"):
        means = np.add.reduceat(shares, starts, axis=0)
    if np.isnan(means).any():
        raise ValueError(
            "Scores of one class must not be -inf and inf both, which have no "
            "mean; received both from `score`. Use combine='max'."
        )
    return means


def _two_sides(
    first: Any, second: Any, names: tuple[str, str] = ("first", "second")
) -> tuple[np.ndarray, np.ndarray]:
    """Both as arrays; converted and checked once if they are the same."""
    same = second is first
    first = arrays.numbers(names[0], first, 2, "(rows, dim)")
    if same:
        return first, first
    second = arrays.numbers(names[1], second, 2, "(rows, dim)")
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"`{names[0]}` and `{names[1]}` must have the same dim; received "
            f"shapes {first.shape} and {second.shape}. Use one encoder."
        )
    return first, second


def _names(name: str, value: Any) -> list:
    """`value` as a list; ValueError unless it is a sequence of names."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError("it is a text")
        found = list(value)
        hash(tuple(found))
    except TypeError as error:
        raise ValueError(
            f"`{name}` must hold sequences of strings or integers; received "
            f"{value!r}: {error}. Pass lists, or NumPy arrays."
        ) from error
    return found


def _unit(x: np.ndarray) -> np.ndarray:
    """Rows of length 1, of any scale; a row of zeros stays."""
    largest = np.max(np.abs(x), axis=1, keepdims=True)
    x = x / np.where(largest > 0, largest, 1)
    # Not below 1 now, unless the row is zero; and no square overflows.
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1)


def _blocks(length: int, size: int) -> list[slice]:
    return [
        slice(start, min(start + size, length))
        for start in range(0, length, size)
    ]


def _call(
    score: Callable, first: np.ndarray, second: np.ndarray, pairs: bool = False
) -> np.ndarray:
    arguments.function("score", score, "two arrays of embeddings")
    scores = np.asarray(score(first, second))
    shape = (len(first),) if pairs else (len(first), len(second))
    if scores.shape != shape:
        raise ValueError(
            f"The score of embeddings {first.shape} and {second.shape} must "
            f"have shape {shape}; received {scores.shape}."
        )
    if scores.dtype.kind == "c" or not np.can_cast(scores.dtype, np.float64):
        raise ValueError(
            f"Scores must be real numbers; received dtype {scores.dtype}."
        )
    if np.isnan(scores).any():
        raise ValueError(
            "Scores must be numbers; received NaN from the score of finite "
            "embeddings. Look for a division by 0 in it."
        )
    return scores
