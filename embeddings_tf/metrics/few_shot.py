"""Few-shot classification of embeddings in random episodes."""

import math
from collections.abc import Callable
from collections.abc import Iterator
from statistics import NormalDist
from typing import Any

import numpy as np

from embeddings_tf import sampling
from embeddings_tf.metrics import arrays
from embeddings_tf.ops import arguments
from embeddings_tf.ops import gaussian
from embeddings_tf.ops.arguments import number_between
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import truth


def few_shot_accuracy(
    embeddings: Any,
    labels: Any,
    num_support: int,
    num_query: int = 15,
    num_classes: int | None = None,
    num_episodes: int = 100,
    seed: int = 0,
    *,
    log_prob: Callable | None = None,
    query_embeddings: Any = None,
    gaussian: bool = False,
) -> float:
    """Few-shot accuracy: classifies queries from a few examples per class.

    Use it to measure how well embeddings separate classes, in particular
    held-out classes. Each of `num_episodes` random episodes represents each of
    `num_classes` classes by `num_support` examples, and classifies `num_query`
    further examples of each class. For the spread over episodes, or other
    metrics of the same episodes, use `few_shot_episodes`.

    Formula:

    ```
    accuracy = mean over episodes and queries of
        [argmax over classes of log_prob(query) = class of the query]
    ```

    If several classes are equally probable, the first one in the episode is
    predicted. Embeddings that are all equal thus score `1 / num_classes`.

    Args:
        embeddings: `(num_examples, width)`, in the form that `log_prob` reads.
        labels: Integers `(num_examples,)`.
        num_support: Supports per class.
        num_query: Queries per class.
        num_classes: Classes per episode. None: all classes.
        num_episodes: Number of episodes.
        seed: Integer; the same seed gives the same episodes.
        log_prob: Function `(support, support_labels, query, num_classes,
            seed)` that returns log-probabilities `(queries, num_classes)`.
            `support_labels` are int32 in `[0, num_classes)`, and `seed` is an
            int32 array `(2,)` that differs between episodes. None: the nearest
            class mean, log softmax of minus the squared Euclidean distance.
        query_embeddings: Embeddings of the queries, with the shape and rows
            of `embeddings`; for instance of corrupted versions of the same
            images. None: `embeddings`.
        gaussian: Whether embeddings are packed Gaussians `(num_examples,
            2 * dim)`, the output of a model that ends in `GaussianEmbedding`.
            Their means are compared. With `log_prob`, which reads embeddings
            unchanged, leave it out.

    Returns:
        Accuracy in `[0, 1]`; chance is `1 / num_classes`.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong rank or of
            different lengths, if there are too few classes or a class has
            too few examples, if `gaussian` comes with an odd width or with
            `log_prob`, or if `log_prob` returns NaN or another shape.

    Reference:
        - [Snell, Swersky & Zemel, 2017](https://arxiv.org/abs/1703.05175)

    Example:

    >>> embeddings = np.repeat([[0.0], [5.0], [9.0]], 20, axis=0)
    >>> labels = np.repeat([3, 1, 7], 20)
    >>> embeddings_tf.metrics.few_shot_accuracy(embeddings, labels, 5)
    1.0
    """
    accuracies = [
        np.mean(np.argmax(log_probability, axis=1) == target)
        for log_probability, target in few_shot_episodes(
            embeddings,
            labels,
            num_support,
            num_query,
            num_classes,
            num_episodes,
            seed,
            log_prob=log_prob,
            query_embeddings=query_embeddings,
            gaussian=gaussian,
        )
    ]
    return float(np.mean(accuracies))


def few_shot_episodes(
    embeddings: Any,
    labels: Any,
    num_support: int,
    num_query: int = 15,
    num_classes: int | None = None,
    num_episodes: int = 100,
    seed: int = 0,
    *,
    log_prob: Callable | None = None,
    query_embeddings: Any = None,
    gaussian: bool = False,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields the log-probabilities and targets of random episodes.

    Use it if `few_shot_accuracy` is too coarse: for a confidence interval over
    episodes, calibration or error versus reject. Arguments and errors are as in
    `few_shot_accuracy`. Arguments are checked before the first episode.

    Yields:
        `(log_probability, target)` of each episode: an array
        `(queries, num_classes)`, and the index of each query's class, integers
        `(queries,)`. Queries are sorted by class.

    Example:

    >>> embeddings = np.repeat([[0.0], [5.0], [9.0]], 20, axis=0)
    >>> labels = np.repeat([3, 1, 7], 20)
    >>> for log_probability, target in embeddings_tf.metrics.few_shot_episodes(
    ...     embeddings, labels, num_support=1, num_query=2, num_episodes=1
    ... ):
    ...     print(log_probability.shape, target)
    (6, 3) [0 0 1 1 2 2]
    """
    shape = "(num_examples, width)"
    embeddings = arrays.numbers("embeddings", embeddings, 2, shape)
    labels = arrays.integers("labels", labels, 1, "(num_examples,)")
    arrays.same_length(embeddings=embeddings, labels=labels)
    if query_embeddings is None:
        query_embeddings = embeddings
    else:
        query_embeddings = arrays.numbers(
            "query_embeddings", query_embeddings, 2, shape
        )
        if query_embeddings.shape != embeddings.shape:
            raise ValueError(
                "`query_embeddings` must have the shape of `embeddings`, with "
                "row i from the same example; received shapes "
                f"{query_embeddings.shape} and {embeddings.shape}. Embed the "
                "same examples with the same encoder."
            )
    if log_prob is not None:
        arguments.function(
            "log_prob",
            log_prob,
            "(support, support_labels, query, num_classes, seed)",
        )
    if truth("gaussian", gaussian):
        if log_prob is not None:
            raise ValueError(
                "`gaussian=True` compares means, but `log_prob` reads "
                "embeddings unchanged. Leave one of the two out."
            )
        embeddings = _means(embeddings)
        query_embeddings = _means(query_embeddings)
    num_support = positive_integer("num_support", num_support)
    num_query = positive_integer("num_query", num_query)
    num_episodes = positive_integer("num_episodes", num_episodes)
    if num_classes is None:
        num_classes = len(np.unique(labels))
    num_classes = positive_integer("num_classes", num_classes)
    indices = sampling.episodes(
        labels, num_classes, num_support, num_query, seed
    )
    return _episodes(
        embeddings,
        query_embeddings,
        indices.take(num_episodes),
        (num_classes, num_support, num_query),
        seed,
        _nearest_mean if log_prob is None else log_prob,
    )


def _means(packed: np.ndarray) -> np.ndarray:
    width = packed.shape[1]
    if width % 2:
        raise ValueError(
            "Packed Gaussians must have an even width, mean and variance side "
            f"by side; received width {width}. Pass gaussian=False for points."
        )
    return gaussian.mean_part(packed)


def _episodes(support_from, query_from, batches, counts, seed, log_prob):
    num_classes, num_support, num_query = counts
    support_labels = np.repeat(np.arange(num_classes), num_support)
    support_labels = support_labels.astype(np.int32)
    target = np.repeat(np.arange(num_classes), num_query)
    for number, indices in enumerate(batches.as_numpy_iterator()):
        rows = indices.reshape(num_classes, num_support + num_query)
        log_probability = arrays.result(
            "log_prob",
            log_prob(
                support_from[rows[:, :num_support].ravel()],
                support_labels,
                query_from[rows[:, num_support:].ravel()],
                num_classes,
                np.array([seed % 2**31, number], np.int32),
            ),
        )
        if log_probability.shape != (len(target), num_classes):
            raise ValueError(
                "`log_prob` must return one row per query and one column per "
                f"class, {(len(target), num_classes)}; received shape "
                f"{log_probability.shape}."
            )
        if np.isnan(log_probability).any():
            raise ValueError(
                "`log_prob` must return log-probabilities; received NaN in "
                f"episode {number}. Check it for a difference of two "
                "infinite logarithms."
            )
        yield log_probability, target.copy()


def _nearest_mean(support, support_labels, query, num_classes, seed):
    """Log softmax of minus the squared distance to each class mean.

    Where rounding makes classes equal, the nearest still has the largest value.
    """
    from scipy.spatial.distance import cdist

    both = np.concatenate([support, query])
    # A large unit, so that squares of other rows do not underflow beside an
    # outlier.
    scaled, exponent = arrays.scaled(both, power=400)
    support, query = np.split(scaled, [len(support)])
    support = support.reshape(num_classes, -1, support.shape[1])
    # Sums of squared differences, because products lose small differences of
    # points that are far from the origin, or of one far class.
    distances = cdist(query, support.mean(axis=1), "sqeuclidean")
    distances -= distances.min(axis=1, keepdims=True)
    with np.errstate(over="ignore", under="ignore"):
        logits = -np.ldexp(distances, 2 * exponent)
        logits -= np.log(np.sum(np.exp(logits), axis=1, keepdims=True))
    nearest = np.arange(len(query)), distances.argmin(axis=1)
    logits[nearest] *= 1 - 2 * np.finfo(logits.dtype).eps
    return logits


def confidence_interval(values: Any, level: float = 0.95) -> float:
    """Half width of the confidence interval of a mean over episodes.

    Use it to print `mean +- half width`. It is the normal approximation, for
    about thirty or more independent values.

    Formula:

    ```
    half width = z * s / sqrt(n)
    ```

    where `s` is the standard deviation of the values (divided by `n - 1`) and
    `z` the normal quantile of `(1 + level) / 2`, 1.96 for 95 %.

    Args:
        values: `(n,)`, one per episode.
        level: Probability that the interval covers the mean, between 0 and 1.

    Returns:
        The half width, at least 0. It is infinite for a single value, which
        gives no information about the spread.

    Raises:
        ValueError: If the values are empty or not finite, or the level is not
            between 0 and 1.

    Example:

    >>> round(embeddings_tf.metrics.confidence_interval([0.8, 0.9, 1.0]), 3)
    0.113
    """
    values = arrays.numbers("values", values, 1, "(n,)")
    level = number_between("level", level, 0, 1)
    if len(values) == 1:
        return math.inf
    scaled, exponent = arrays.scaled(values)
    error = np.std(scaled, ddof=1) / math.sqrt(len(values))
    # The lower quantile, because (1 + level) / 2 may round to 1.
    quantile = -NormalDist().inv_cdf((1 - level) / 2)
    return float(np.ldexp(quantile * error, exponent))
