"""Embeddings in a plane, for pictures."""

import numpy as np


def plane(method, embeddings) -> dict:
    """Returns arguments of `viz.embedding_figure` for embeddings.

    Two dimensions are drawn as they are, and one dimension along the
    horizontal axis. More dimensions are drawn by their two principal
    components, whose directions have no predicted variance.

    Args:
        method: A `models.method.Method`.
        embeddings: `(n, width)`, at least two rows.
    """
    points = np.asarray(method.points(embeddings))
    dim = points.shape[1]
    if dim == 1:
        return {
            "mean": np.pad(points, ((0, 0), (0, 1))),
            "variance": None,
            "axis_names": ("dimension 1", ""),
        }
    if dim > 2:
        return {
            "mean": _principal_components(points),
            "variance": None,
            "axis_names": ("principal component 1", "principal component 2"),
        }
    variance = method.variances(embeddings)
    if variance is not None:
        variance = np.asarray(variance)
    return {"mean": points, "variance": variance}


def _principal_components(points: np.ndarray) -> np.ndarray:
    """The first two components of each point, `(n, 2)`, float64."""
    centred = points - points.mean(axis=0, dtype=np.float64)
    directions = np.linalg.svd(centred, full_matrices=False)[2][:2]
    # The sign is arbitrary; this choice keeps a picture from being mirrored.
    largest = np.argmax(np.abs(directions), axis=1)
    signs = np.sign(directions[[0, 1], largest])
    return centred @ (directions * signs[:, None]).T
