"""The scores of pairs that verification and retrieval compare."""

from collections.abc import Callable

import numpy as np

from embeddings_tf import metrics


def learned_score(model, of: str = "all_pairs"):
    """The score of the model's own distance; None if it has no distance.

    Of `"all_pairs"` of two sets, or of `"pairs"`, row by row.
    """
    objective = getattr(model, "objective", None)
    distance = getattr(objective, "distance", None)
    if distance is None or isinstance(distance, str):
        return None  # a plain loss has the name of one
    if of == "pairs":
        return lambda first, second: distance((first, second))
    return distance.all_pairs


def all_scores(model, plda, of: str = "all_pairs") -> dict[str, Callable]:
    """Scores of embeddings `(a, dim)` and `(b, dim)`, the first enrolled.

    Of `"all_pairs"`, or of `"pairs"`, row by row.
    """
    from scipy.special import expit

    if of == "pairs":
        cosine, likelihood = metrics.cosine_score_pairs, plda.score_pairs
    else:
        cosine, likelihood = metrics.cosine_scores, plda.score
    found = {"cosine": cosine, "plda": likelihood}
    learned = learned_score(model, of)
    if learned is not None:

        def fused(first, second):
            # float64, in which large logits have probabilities below 1.
            logits = np.asarray(learned(first, second), np.float64)
            return metrics.fuse_scores(expit(logits), cosine(first, second))

        found |= {"learned_distance": learned, "fused": fused}
    return found
