"""Warns of predicted variances that do not measure uncertainty."""

import warnings

import numpy as np

from embeddings_tf.metrics.retrieval import recall_at_k
from embeddings_tf.metrics.uncertainty import recall_auroc
from embeddings_tf.ops.rank_in_class import rank_in_class

# Below it, the variance hardly differs between inputs. The limit is rough: in
# 64 dimensions the variation is 0.30 to 0.96 on photographs, where the variance
# is silent, and 0.43 to 1.6 on characters, where it sees hidden pixels
# (docs/uncertainty.md). The share has no limit: with shares down to 0.00001,
# the variance still orders inputs. It is not for trainings with a divergence,
# where variations near 0.15 work.
SMALLEST_VARIATION = 0.35
# R-AUROC of an uncertainty that knows nothing.
CHANCE = 0.5
# Variances of a network that was hardly trained are all alike.
LEAST_STEPS = 500
# Inputs whose neighbours are searched: at most seconds.
MOST_INPUTS = 10_000
REMEDY = (
    "Do not use it as an uncertainty before you have tested it on held-out "
    "inputs (embeddings_tf.metrics.recall_auroc). Train with corrupted inputs "
    "(embeddings_tf.datasets.degrade_randomly), fewer dimensions or a "
    "divergence (StochasticPrototypes(beta=0.001)), or add an "
    "embeddings_tf.layers.UncertaintyHead (docs/uncertainty.md)."
)


def warn_of_useless_variance(
    shares: dict[str, float], auroc: float | None, has_divergence: bool
) -> None:
    """Warns if the predicted variance hardly differs, or predicts no errors.

    Args:
        shares: Result of `variance_shares` for held-out inputs.
        auroc: Result of `recall_auroc_of_variance` for the same inputs.
        has_divergence: Whether training draws variances together.
    """
    share, variation = shares["variance_share"], shares["variance_variation"]
    if variation < SMALLEST_VARIATION and not has_divergence:
        found = (
            "The predicted variance has collapsed: it varies by "
            f"{variation:.0%} between inputs (expected at least "
            f"{SMALLEST_VARIATION:.0%}, a rough limit), and is {share:.2%} of "
            "the total variance of held-out embeddings."
        )
    elif auroc is not None and auroc < CHANCE:
        found = (
            "The predicted variance does not tell which held-out inputs have a "
            f"nearest neighbour of another class: its R-AUROC is {auroc:.2f} "
            f"({CHANCE} is chance)."
        )
    else:
        return
    warnings.warn(f"{found} {REMEDY}", stacklevel=2)


def recall_auroc_of_variance(
    points: np.ndarray, variance: np.ndarray, labels: np.ndarray, distance: str
) -> float | None:
    """R-AUROC of the variance, summed over dimensions.

    None if there is nothing to tell apart: without integer labels, without two
    inputs of a class, if all nearest neighbours are right, or all wrong, or if
    embeddings are not finite. Of more than `MOST_INPUTS` inputs, the first of
    each class are taken.

    Args:
        points: Means of the inputs, `(n, dim)`.
        variance: Predicted variances, `(n, dim)`.
        labels: Classes `(n,)`, or other labels.
        distance: As in `metrics.recall_at_k`.
    """
    if labels.dtype.kind not in "iu" or labels.ndim != 1:
        return None
    rows = _some_of_each_class(labels)
    points, variance, labels = points[rows], variance[rows], labels[rows]
    if len(np.unique(labels)) == len(labels):
        return None
    if not (np.isfinite(points).all() and np.isfinite(variance).all()):
        return None
    if recall_at_k(points, labels, 1, distance)[1] in (0.0, 1.0):
        return None
    return recall_auroc(variance.sum(axis=-1), points, labels, distance)


def _some_of_each_class(labels: np.ndarray) -> np.ndarray:
    """At most `MOST_INPUTS` rows, of each class at least two if it has them."""
    if len(labels) <= MOST_INPUTS:
        return np.arange(len(labels))
    of_class = max(2, MOST_INPUTS // len(np.unique(labels)))
    rows = np.flatnonzero(rank_in_class(labels) < of_class)
    return rows[np.argsort(labels[rows], kind="stable")][:MOST_INPUTS]
