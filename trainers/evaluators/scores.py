"""The scores of pairs that verification and retrieval compare."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from embeddings_tf import metrics
from embeddings_tf.models.method import Method


def own_score(method: Method) -> Callable | None:
    """The method's score of all pairs of two sets of embeddings.

    None unless it is a log-likelihood ratio: other scores say no more than the
    distance of the embeddings.
    """
    return _seeded(method, method.score_all_pairs)


def own_score_of_pairs(method: Method) -> Callable | None:
    """As `own_score`, row by row."""
    return _seeded(method, method.score_pairs)


def _seeded(method: Method, score: Callable) -> Callable | None:
    if not method.has_likelihood_ratio:
        return None
    # Samples, if the method draws any, are the same at each call.
    return lambda first, second: score(first, second, seed=tf.constant([0, 0]))


def all_scores(method: Method, plda) -> dict[str, Callable]:
    """Scores of embeddings `(a, width)` and `(b, width)`, the first enrolled.

    By name: cosine, PLDA, and for a method with a log-likelihood ratio also
    that ratio and the fusion of its probability with the cosine.
    """
    return _by_name(
        method, metrics.cosine_scores, plda.score, own_score(method)
    )


def scores_of_pairs(method: Method, plda) -> dict[str, Callable]:
    """As `all_scores`, row by row."""
    return _by_name(
        method,
        metrics.cosine_score_pairs,
        plda.score_pairs,
        own_score_of_pairs(method),
    )


def _by_name(method, cosine, likelihood, own) -> dict[str, Callable]:
    from scipy.special import expit

    cosine = of_points(method, cosine)
    found = {"cosine": cosine, "plda": of_points(method, likelihood)}
    if own is not None:

        def fused(first, second):
            # float64, in which large logits have probabilities below 1.
            logits = np.asarray(own(first, second), np.float64)
            return metrics.fuse_scores(expit(logits), cosine(first, second))

        found |= {method.name: own, "fused": fused}
    return found


def of_points(method: Method, score: Callable) -> Callable:
    """A score of points as one of embeddings, which may be Gaussians."""
    if not method.is_gaussian:
        return score
    return lambda first, second: score(
        method.points(first).numpy(), method.points(second).numpy()
    )
