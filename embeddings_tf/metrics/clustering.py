"""Clusters of embeddings, compared with classes."""

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.scoring import score_all_pairs
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import random_seed

# Number of scores of embeddings and centroids in memory at once.
_SCORES_BLOCK = 2**22
# An embedding so many times as large as the median is named if k-means loses
# clusters.
_FAR = 1e3
# Share of rows that k-means may assign to a centroid that is not the nearest.
_MOST_WRONG = 0.01


def normalized_mutual_information(labels: Any, clusters: Any) -> float:
    """Normalised mutual information (NMI) of clusters and classes.

    Use it to evaluate embeddings by clustering, usually by k-means with as
    many clusters as classes. The names of clusters do not matter, and the
    arguments may be exchanged. NMI is not adjusted for chance. It grows with
    the number of clusters, so compare equal numbers only.

    Formula:

    ```
    I = sum over i, j of (n_ij / n) ln(n n_ij / (n_i n_j))
    NMI = I / ((H(labels) + H(clusters)) / 2)
    ```

    where `n_ij` counts the examples of class `i` in cluster `j`, `n_i` and
    `n_j` are its sums, and `H` is the entropy. Retrieval papers and
    scikit-learn divide by the arithmetic mean of the entropies; the geometric
    mean and the maximum are also in use.

    Args:
        labels: The class of each example, integers `(n,)`.
        clusters: The cluster of each example, integers `(n,)`.

    Returns:
        A float in `[0, 1]`: 1 if the clusters equal the classes, even if there
        is only one of each; 0 if they are independent, and if only one of
        both has a single value.

    Raises:
        ValueError: If arrays are empty, not integers, of the wrong rank or of
            different lengths.

    Reference:
        - [Vinh, Epps & Bailey, 2010](https://www.jmlr.org/papers/v11/vinh10a.html),
          Table 2, NMI_sum

    Example:

    >>> embeddings_tf.metrics.normalized_mutual_information(
    ...     labels=[0, 0, 1, 1], clusters=[7, 7, 3, 3]
    ... )
    1.0
    """
    labels = arrays.integers("labels", labels, 1, "(n,)")
    clusters = arrays.integers("clusters", clusters, 1, "(n,)")
    arrays.same_length(labels=labels, clusters=clusters)
    # normalized_mutual_info_score of scikit-learn agrees to 1e-15, takes 4 to
    # 20 times as long, and rounding may miss 1 for clusters equal to classes.
    row, rows = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    column, columns = np.unique(
        clusters, return_inverse=True, return_counts=True
    )[1:]
    # Only occurring pairs: classes times clusters may be too many.
    pair, pairs = np.unique(row * len(columns) + column, return_counts=True)
    if len(pair) == len(rows) == len(columns):
        return 1.0  # one class and one cluster
    n = len(labels)
    independent = rows[pair // len(columns)] * columns[pair % len(columns)]
    information = math.fsum(pairs / n * np.log(pairs * n / independent))
    entropies = [math.fsum(c / n * np.log(n / c)) for c in (rows, columns)]
    return min(1.0, max(0.0, 2 * information / math.fsum(entropies)))


def k_means_centroids(
    embeddings: Any,
    num_clusters: int,
    *,
    seed: int = 0,
    num_starts: int = 10,
) -> np.ndarray:
    """Centroids of k-means: clusters found without labels.

    Use it with `assign_clusters` and `normalized_mutual_information`. Retrieval
    papers take as many clusters as classes. The implementation is
    scikit-learn's, with k-means++ and the best of `num_starts` starts.

    An embedding that is far from the rest costs the rest their digits. The fit
    has the precision of the embeddings, and float64 if that loses clusters. If
    float64 does, as beyond about 1e10 times the median size, the embeddings
    are refused.

    Args:
        embeddings: `(n, dim)`.
        num_clusters: Number of clusters, at most n.
        seed: Random seed of the starts.
        num_starts: Number of runs; the run with the smallest sum of squared
            distances is kept.

    Returns:
        `(num_clusters, dim)`, with the dtype of the embeddings.

    Raises:
        ValueError: If arrays are empty, not finite or of the wrong rank, or
            there are fewer distinct embeddings than clusters. If an embedding
            is so large that float64 loses the other clusters.

    Reference:

    - [Arthur & Vassilvitskii, 2007](https://dl.acm.org/doi/10.5555/1283383.1283494),
      k-means++

    Example:

    >>> embeddings = np.array([[0.0], [2.0], [10.0], [12.0]])
    >>> float(embeddings_tf.metrics.k_means_centroids(embeddings, 2).sum())
    12.0
    """
    from sklearn.cluster import KMeans

    embeddings = arrays.numbers("embeddings", embeddings, 2, "(n, dim)")
    num_clusters = positive_integer("num_clusters", num_clusters)
    seed = random_seed("seed", seed, num_bits=32)
    distinct = len(np.unique(embeddings, axis=0))
    if distinct < num_clusters:
        raise ValueError(
            f"`num_clusters` must be at most {distinct}, the distinct "
            f"embeddings; received {num_clusters}; ask for fewer clusters."
        )
    scaled, exponent = arrays.scaled(embeddings)
    k_means = KMeans(
        num_clusters,
        n_init=positive_integer("num_starts", num_starts),
        random_state=seed,
    )
    # In the given precision, and in float64 if that loses clusters.
    for dtype in dict.fromkeys((embeddings.dtype, scaled.dtype)):
        rows = scaled.astype(dtype)
        centroids, notes = _fitted_centroids(k_means, rows, scaled)
        if not _loses_clusters(k_means.labels_, scaled, centroids):
            break
    else:
        _require_one_scale(embeddings, num_clusters)
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return np.ldexp(centroids, exponent).astype(embeddings.dtype)


def _fitted_centroids(k_means, rows, exact) -> tuple[np.ndarray, list]:
    """Means in float64 of the clusters that k-means finds, and its warnings.

    scikit-learn subtracts the mean of all rows, so its own centroids lose their
    digits beside a far row.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        labels = k_means.fit(rows).labels_
    centroids = k_means.cluster_centers_.astype(np.float64)
    for cluster in np.unique(labels):
        centroids[cluster] = exact[labels == cluster].mean(axis=0)
    return centroids, [note.message for note in caught]


def _loses_clusters(labels, rows, centroids) -> bool:
    """Whether the precision of a fit had too few digits for its clusters.

    Its clusters then coincide, or rows are not in the cluster of the nearest
    centroid.
    """
    if len(np.unique(labels)) < len(centroids):
        return True
    of_labels, of_nearest = (
        np.sum((rows - centroids[chosen]) ** 2, axis=1)
        for chosen in (labels, _nearest(rows, centroids))
    )
    return bool(np.mean(of_labels > 1.01 * of_nearest) > _MOST_WRONG)


def _require_one_scale(embeddings, num_clusters: int) -> None:
    """Raises ValueError if an embedding is far beyond the median size."""
    sizes = np.max(np.abs(embeddings), axis=1)
    largest = float(np.max(sizes))
    usual = float(np.median(sizes[sizes > 0]))
    if largest > _FAR * usual:
        raise ValueError(
            "`embeddings` must be of one scale; received one of size "
            f"{largest:.3g}, {largest / usual:.3g} times the median size, "
            f"beside which float64 has no digits for {num_clusters} clusters. "
            "Drop this row, or normalise the embeddings."
        )


def class_means(embeddings: Any, labels: Any) -> np.ndarray:
    """Mean embedding of each class: centroids that use the labels.

    Use it to assign clusters as the code of Monteiro et al. does. The result
    is an upper limit for centroids found without labels.

    Args:
        embeddings: `(n, dim)`.
        labels: Integers `(n,)`.

    Returns:
        `(num_classes, dim)`, classes ascending, with the dtype of the
        embeddings.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong rank or of
            different lengths.

    Reference:

    - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Appendix C;
      only the authors' code uses centroids of the true classes

    Example:

    >>> embeddings_tf.metrics.class_means([[1.0], [3.0], [8.0]], [4, 4, 2])
    array([[8.],
           [2.]])
    """
    embeddings = arrays.numbers("embeddings", embeddings, 2, "(n, dim)")
    labels = arrays.integers("labels", labels, 1, "(n,)")
    arrays.same_length(embeddings=embeddings, labels=labels)
    order = np.argsort(labels, kind="stable")
    _, starts, counts = np.unique(
        labels[order], return_index=True, return_counts=True
    )
    scaled, exponent = arrays.scaled(embeddings)
    means = np.add.reduceat(scaled[order], starts) / counts[:, None]
    return np.ldexp(means, exponent).astype(embeddings.dtype)


def assign_clusters(
    embeddings: Any, centroids: Any, score: Callable | None = None
) -> np.ndarray:
    """Assigns embeddings to centroids, also by a learned distance.

    Use it to cluster by a learned distance. The centroids are Euclidean, from
    `k_means_centroids` or `class_means`. Each embedding is assigned to the
    centroid with the highest score; the centroid is the enrolled side. Without
    a score it is assigned to the nearest centroid, as in k-means.

    Args:
        embeddings: `(n, dim)`.
        centroids: `(num_clusters, dim)`.
        score: As in `score_all_pairs`, such as `layers.PairDistance.all_pairs`.
            None: minus the Euclidean distance.

    Returns:
        Integers `(n,)` in `[0, num_clusters)`, the first of equal scores.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong rank or of
            different `dim`, or if the score returns NaN or another shape.

    Reference:

    - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Appendix C

    Example:

    >>> centroids = np.array([[0.0, 1.0], [5.0, 5.0]])
    >>> points = np.array([[0.0, 3.0], [1.0, 1.0]])
    >>> embeddings_tf.metrics.assign_clusters(points, centroids)
    array([0, 0])
    >>> embeddings_tf.metrics.assign_clusters(
    ...     points, centroids, embeddings_tf.metrics.cosine_scores
    ... )
    array([0, 1])
    """
    embeddings = arrays.numbers("embeddings", embeddings, 2, "(n, dim)")
    centroids = arrays.numbers("centroids", centroids, 2, "(num_clusters, dim)")
    if score is None:
        return _nearest(embeddings, centroids)
    size = max(1, _SCORES_BLOCK // len(centroids))
    blocks = range(0, len(embeddings), size)
    return np.concatenate(
        [
            np.argmax(
                score_all_pairs(
                    score,
                    centroids,
                    embeddings[first : first + size],
                ),
                axis=0,
            )
            for first in blocks
        ]
    )


def _nearest(embeddings: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """Nearest centroid by Euclidean distance, the first of equal ones."""
    from scipy.spatial.distance import cdist

    if embeddings.shape[1] != centroids.shape[1]:
        raise ValueError(
            "`embeddings` and `centroids` must have the same dim; received "
            f"shapes {embeddings.shape} and {centroids.shape}. Use one encoder."
        )
    both = np.concatenate([embeddings, centroids])
    # A large unit, so that squares of other rows do not underflow beside an
    # outlier.
    scaled, _ = arrays.scaled(both, power=400)
    embeddings, centroids = np.split(scaled, [len(embeddings)])
    size = max(1, _SCORES_BLOCK // len(centroids))
    # Sums of squared differences, because products lose small differences of
    # points that are far from the origin, or of one far centroid.
    return np.concatenate(
        [
            np.argmin(
                cdist(
                    embeddings[first : first + size], centroids, "sqeuclidean"
                ),
                axis=1,
            )
            for first in range(0, len(embeddings), size)
        ]
    )
