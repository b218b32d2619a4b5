"""Embeddings in a plane, for pictures."""

import numpy as np


def plane(method, embeddings) -> dict:
    """Returns arguments of `viz.embedding_figure` for embeddings.

    Two dimensions are drawn as they are. More dimensions are drawn by their
    two principal components, whose directions have no predicted variance.

    Args:
        method: A `models.method.Method`.
        embeddings: `(n, width)`, of at least two rows and dimensions.
    """
    mean = np.asarray(method.points(embeddings))
    if mean.shape[1] > 2:
        from sklearn.decomposition import PCA

        return {
            "mean": PCA(2, random_state=0).fit_transform(mean),
            "variance": None,
            "axis_names": ("principal component 1", "principal component 2"),
        }
    variance = method.variances(embeddings)
    if variance is not None:
        variance = np.asarray(variance)
    return {"mean": mean, "variance": variance}
