"""Whether clusters are the classes."""

import math
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays


def normalized_mutual_information(labels: Any, clusters: Any) -> float:
    """What clusters tell about classes, as a fraction of what is to tell.

    Use it to judge embeddings by clustering, usually by k-means with as many
    clusters as classes. Names do not matter, and the two arguments may be
    exchanged. It is not adjusted for chance, and grows with the number of
    clusters whatever these are: compare at the same number only.

    Formula:

    ```
    I = sum over i, j of (n_ij / n) ln(n n_ij / (n_i n_j))
    NMI = I / ((H(labels) + H(clusters)) / 2)
    ```

    where `n_ij` counts the examples of class `i` in cluster `j`, `n_i` and
    `n_j` are its sums, and `H` is the entropy. Dividing by the arithmetic mean
    is what retrieval papers and scikit-learn do; the geometric mean and the
    maximum of the entropies are also in use.

    Reference:

    - [Vinh, Epps & Bailey, 2010](https://www.jmlr.org/papers/v11/vinh10a.html),
      Table 2, NMI_sum

    Args:
        labels: The class of each example, integers `(n,)`.
        clusters: The cluster of each example, integers `(n,)`.

    Returns:
        A float in `[0, 1]`: 1 if the clusters are the classes, also if there
        is one of each; 0 if they are independent, also if only one of both
        has a single value.

    Raises:
        ValueError: If arrays are empty, not integers, of the wrong rank or of
            different lengths.

    Example:

    >>> embeddings_tf.metrics.normalized_mutual_information(
    ...     labels=[0, 0, 1, 1], clusters=[7, 7, 3, 3]
    ... )
    1.0
    """
    labels = arrays.integers("labels", labels, 1, "(n,)")
    clusters = arrays.integers("clusters", clusters, 1, "(n,)")
    arrays.same_length(labels=labels, clusters=clusters)
    row, rows = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    column, columns = np.unique(
        clusters, return_inverse=True, return_counts=True
    )[1:]
    # Only the pairs that occur: classes times clusters may be many.
    pair, pairs = np.unique(row * len(columns) + column, return_counts=True)
    if len(pair) == len(rows) == len(columns):
        return 1.0  # one to one
    n = len(labels)
    independent = rows[pair // len(columns)] * columns[pair % len(columns)]
    information = math.fsum(pairs / n * np.log(pairs * n / independent))
    entropies = [math.fsum(c / n * np.log(n / c)) for c in (rows, columns)]
    return min(1.0, max(0.0, 2 * information / math.fsum(entropies)))
