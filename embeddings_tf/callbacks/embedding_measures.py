"""Numbers that tell a collapse of embeddings from progress."""

import numpy as np
from scipy import spatial
from scipy import special

from embeddings_tf.callbacks.variance_shares import variance_shares
from embeddings_tf.models.method import Method


def embedding_measures(
    method: Method, labels: np.ndarray, embeddings: np.ndarray
) -> dict[str, float]:
    """Measures labelled embeddings; names are as in `EmbeddingDiagnostics`.

    A mean over no pairs is 0: `distance_within` without two rows of a class,
    `distance_between` without two classes.

    Args:
        method: The method of the model, which may add numbers.
        labels: Integers `(n,)`.
        embeddings: Output of the model, `(n, width)`, at least one row.

    Returns:
        Finite numbers, or NaN if the embeddings are not finite.
    """
    if not np.isfinite(embeddings).all():
        # Only the names; a share of NaN would be 0.
        names = embedding_measures(method, labels, np.ones_like(embeddings))
        return dict.fromkeys(names, np.nan)
    points = method.points(embeddings).numpy().astype(np.float64)
    within, between = distances(labels, points)
    values = {
        "distance_within": within.mean() if len(within) else 0.0,
        "distance_between": between.mean() if len(between) else 0.0,
        "norm": np.linalg.norm(points, axis=1).mean(),
        "effective_rank": effective_rank(points),
    }
    own = variances(method, embeddings)
    if own is not None:
        values["variance"] = own.mean()
        values |= variance_shares(points, own)
    values |= method.batch_diagnostics(labels, embeddings)
    return {name: float(value) for name, value in values.items()}


def distances(labels, points) -> tuple[np.ndarray, np.ndarray]:
    """Euclidean distances of pairs of one class, and of two classes."""
    first, second = np.triu_indices(len(points), 1)
    found = spatial.distance.pdist(points)
    is_same = labels[first] == labels[second]
    return found[is_same], found[~is_same]


def variances(method: Method, embeddings) -> np.ndarray | None:
    """Predicted variances `(n, dim)`; None for points."""
    found = method.variances(embeddings)
    return None if found is None else found.numpy().astype(np.float64)


def effective_rank(points: np.ndarray) -> float:
    """Effective rank of centred points, by Roy and Vetterli.

    `exp` of the entropy of the singular values divided by their sum: 1 on a
    line, at most the dimension; 0 if all rows are equal.
    """
    if not np.isfinite(points).all():
        return np.nan  # the decomposition does not converge
    sizes = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    if not sizes.sum():
        return 0.0
    share = sizes / sizes.sum()
    return float(np.exp(special.entr(share).sum()))
