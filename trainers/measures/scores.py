"""Scores of pairs that verification and retrieval compare."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from embeddings_tf import metrics
from embeddings_tf import scoring
from embeddings_tf.models.method import Method


def likelihood_ratio(method: Method) -> Callable | None:
    """Returns the score of all pairs if it is a log-likelihood ratio.

    Returns None otherwise: other scores only repeat the distance of the
    embeddings.
    """
    return score_of_all_pairs(method) if method.has_likelihood_ratio else None


def score_of_all_pairs(method: Method) -> Callable:
    """Returns the method's score of all pairs, by which `verify` decides."""
    return _seeded(method.score_all_pairs)


def score_of_pairs(method: Method) -> Callable:
    """Like `score_of_all_pairs`, row by row."""
    return _seeded(method.score_pairs)


def _seeded(score: Callable) -> Callable:
    # Methods that draw samples use the same samples in each call.
    return lambda first, second: np.asarray(
        score(first, second, seed=tf.constant([0, 0]))
    )


def scores_of_all_pairs(
    method: Method, plda, euclidean: bool = False
) -> dict[str, Callable]:
    """Returns scores of `(a, width)` and `(b, width)`, the first enrolled.

    By name: cosine, PLDA, the method's own score of a pair, by which `verify`
    decides, and for a method with a log-likelihood ratio also its probability
    fused with the cosine. With `euclidean`, also `l2`, the negative Euclidean
    distance. Without PLDA, `plda` is None.
    """
    found = _by_name(
        method,
        metrics.cosine_scores,
        plda and plda.score,
        score_of_all_pairs(method),
    )
    return found | (_euclidean(method, _distances) if euclidean else {})


def scores_of_pairs(
    method: Method, plda, euclidean: bool = False
) -> dict[str, Callable]:
    """Like `scores_of_all_pairs`, row by row."""
    found = _by_name(
        method,
        metrics.cosine_score_pairs,
        plda and plda.score_pairs,
        score_of_pairs(method),
    )
    return found | (_euclidean(method, _distance_pairs) if euclidean else {})


def _euclidean(method, distances) -> dict[str, Callable]:
    def negative(first, second):
        return -distances(
            np.asarray(first, np.float64), np.asarray(second, np.float64)
        )

    return {"l2": of_points(method, negative)}


def _distances(first, second) -> np.ndarray:
    from scipy.spatial.distance import cdist

    return cdist(first, second)


def _distance_pairs(first, second) -> np.ndarray:
    return np.linalg.norm(first - second, axis=-1)


def _by_name(method, cosine, likelihood, own) -> dict[str, Callable]:
    from scipy.special import expit

    cosine = of_points(method, cosine)
    found = {"cosine": cosine}
    if likelihood is not None:
        found["plda"] = of_points(method, likelihood)
    found[method.name] = own
    if method.has_likelihood_ratio:

        def fused(first, second):
            # In float64, large logits have probabilities below 1.
            logits = np.asarray(own(first, second), np.float64)
            return metrics.fuse_scores(expit(logits), cosine(first, second))

        found["fused"] = fused
    return found


def normalised_cosine(method: Method, embeddings, classes) -> Callable:
    """The cosine after adaptive score normalisation (AS-norm).

    The cohort has the mean embedding of each class of the training.
    """
    points = method.points(embeddings).numpy()
    cohort = metrics.class_means(points, classes)
    normalised = of_points(
        method,
        scoring.AdaptiveScoreNormalization(metrics.cosine_scores, cohort),
    )

    def score(first, second):
        try:
            return normalised(first, second)
        except ValueError as error:
            raise ValueError(
                "the cosine cannot be normalised, because it does not tell "
                "embeddings from the training classes apart, as after a short "
                f"training; train longer ({error})"
            ) from error

    return score


def likelihood_ratio_names(method: Method) -> tuple[str, ...]:
    """Names of the scores that claim to be log-likelihood ratios."""
    own = (method.name,) if method.has_likelihood_ratio else ()
    return ("plda", *own)


def of_points(method: Method, score: Callable) -> Callable:
    """Converts a score of points to a score of the method's embeddings."""
    return lambda first, second: score(
        method.points(first).numpy(), method.points(second).numpy()
    )
