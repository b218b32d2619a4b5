"""Whether the nearest neighbours of an embedding are of its class."""

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import numpy as np

from embeddings_tf.metrics.gallery_search import checked_search
from embeddings_tf.metrics.gallery_search import nearest_by_distance
from embeddings_tf.metrics.gallery_search import nearest_by_score
from embeddings_tf.metrics.gallery_search import ranked
from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import positive_integer


def recall_at_k(
    embeddings: Any,
    labels: Any,
    k: int | Sequence[int] = (1,),
    distance: str | Callable = "l2",
    gallery: Any = None,
    gallery_labels: Any = None,
    *,
    exclude: Any | Callable | None = None,
) -> dict[int, float]:
    """Fraction of queries with one of their class among the k nearest.

    Use it to judge embeddings by search: every row is a query, and the
    gallery is ranked by distance. Without a `gallery` the rows search among
    each other, and a query never finds itself (its own row is left out, not
    just the nearest row).

    The search is exact. scikit-learn's blocked search proposes the nearest
    rows, and their distances are computed again from differences of rows in
    float64, which decide. Where rounding errors could hide a nearer row, the
    query is compared with the whole gallery, so neither outliers nor an
    offset nor near-twins change the result. Rows at the same distance are
    ranked by their place in the gallery. Time is proportional to queries times
    gallery rows; memory is a float64 copy of the gallery and a few blocks.

    Formula:

    ```
    recall@k = mean over queries of [any of the k nearest is of its class]
    ```

    Reference:

    - [Oh Song, Xiang, Jegelka & Savarese, 2016](https://arxiv.org/abs/1511.06452)
    - `exclude`: [Zheng et al., 2015](https://www.cv-foundation.org/openaccess/content_iccv_2015/html/Zheng_Scalable_Person_Re-Identification_ICCV_2015_paper.html),
      Market-1501

    Args:
        embeddings: Queries, `(n, dim)`.
        labels: Integers `(n,)`.
        k: One or several numbers of neighbours.
        distance: `"l2"` (Euclidean) or `"cosine"`; a row of zeros has cosine
            0 with every other. Or a score as in `score_all_pairs`, a function
            of queries `(a, dim)` and gallery rows `(b, dim)` that returns
            `(a, b)`, larger where they are more the same: for a learned
            distance `layers.PairDistance.all_pairs`, the logits, which rank
            where probabilities have become 1. Scores may be infinite or
            integers.
        gallery: `(m, dim)`, the rows to search. None: `embeddings`.
        gallery_labels: Integers `(m,)`; required with `gallery`.
        exclude: Which gallery rows a query passes over, as if they were not
            in the gallery: booleans `(n, m)`, or, where that is too large, a
            function of query numbers `(rows, 1)` and gallery numbers
            `(1, columns)` that returns booleans of a shape that broadcasts
            with both, called for one block after the other. For
            Market-1501, whose junk is what is labelled -1 and what shows the
            query's person in the query's camera:
            `lambda i, j: (gallery_labels[j] == -1) | (labels[i] ==
            gallery_labels[j]) & (cameras[i] == gallery_cameras[j])`.

    Returns:
        A dictionary from each `k` to the recall, in `[0, 1]`. Queries whose
        class has no (other) member in what they may find are left out.
        Embeddings that say nothing about the class get the chance that one
        of k random rows is of the class of the query.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong rank or of
            different lengths, if `distance` is unknown, a score that returns
            NaN or another shape, if `exclude` is not boolean or of another
            shape, or if no query has a member of its class to find.

    Example:

    >>> embeddings, labels = [[0.0], [1.0], [3.0], [3.5]], [0, 0, 1, 0]
    >>> embeddings_tf.metrics.recall_at_k(embeddings, labels, k=(1, 2))
    {1: 0.6666666666666666, 2: 1.0}
    >>> cameras = np.array([1, 2, 2, 2])  # search in other cameras only
    >>> embeddings_tf.metrics.recall_at_k(
    ...     embeddings, labels, exclude=cameras[:, None] == cameras
    ... )
    {1: 1.0}
    """
    search = checked_search(
        embeddings, labels, distance, gallery, gallery_labels, exclude
    )
    ks = [
        positive_integer("k", value) for value in np.atleast_1d(array("k", k))
    ]
    if not ks:
        raise ValueError("`k` must not be empty; pass for instance k=(1,).")
    hits = dict.fromkeys(ks, 0)
    ranked = nearest_by_score if callable(distance) else nearest_by_distance
    for block, neighbours in ranked(search, max(ks)):
        same = search.gallery_labels[neighbours] == search.labels[block, None]
        for value in hits:
            hits[value] += int(np.sum(np.any(same[:, :value], axis=1)))
    return {value: count / len(search.rows) for value, count in hits.items()}


def mean_average_precision(
    embeddings: Any,
    labels: Any,
    distance: str | Callable = "l2",
    gallery: Any = None,
    gallery_labels: Any = None,
    *,
    exclude: Any | Callable | None = None,
    rule: str = "step",
) -> float:
    """Whether all of a query's class come before the rest of the gallery.

    Use it where a query has several members of its class to find and all of
    them count, as in person re-identification; `recall_at_k` is content with
    one. Every query ranks the whole gallery by distance.

    Formula:

    ```
    precision[r] = members of the query's class among the r nearest / r
    average precision = mean over members, at rank r each, of precision[r]
    mAP = mean over queries of average precision
    ```

    With `rule="trapezoid"` a member at rank r counts `(precision[r - 1] +
    precision[r]) / 2`, where `precision[0] = 1`: the area by trapezoids under
    precision over recall. The evaluation code of Market-1501, which took it
    from Oxford Buildings, does so, and its values are lower.

    Distances are computed in float64. Where their order is within rounding
    errors, they are computed again from differences of rows; those that still
    differ by no more than rounding errors are the same, and ranked by place in
    the gallery. The blocks are of queries: memory is a float64 copy of the
    gallery and a few blocks, time that of sorting the gallery for every query.

    Reference:

    - `exclude`, `rule`: [Zheng et al., 2015](https://www.cv-foundation.org/openaccess/content_iccv_2015/html/Zheng_Scalable_Person_Re-Identification_ICCV_2015_paper.html),
      Market-1501
    - [Philbin, Chum, Isard, Sivic & Zisserman, 2007](https://doi.org/10.1109/CVPR.2007.383172),
      Oxford Buildings

    Args:
        embeddings, labels, distance, gallery, gallery_labels, exclude: As in
            `recall_at_k`: queries `(n, dim)`, integers `(n,)`.
        rule: `"step"`, the textbook's and scikit-learn's, or `"trapezoid"`.

    Returns:
        A float in `[0, 1]`, 1 if every query ranks its class before all
        others. Queries without any member to find are left out. Embeddings
        that say nothing about the class get about the class's share of the
        gallery; with R members among N rows and `rule="step"`, `H / N + (1 -
        H / N) (R - 1) / (N - 1)` with `H = 1 + 1/2 + ... + 1/N`.

    Raises:
        ValueError: As `recall_at_k`, or if `rule` is unknown.

    Example:

    >>> gallery, gallery_labels = [[1.0], [2.0], [3.0]], [7, 5, 7]
    >>> embeddings_tf.metrics.mean_average_precision(
    ...     [[0.0]], [7], "l2", gallery, gallery_labels
    ... )  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    search = checked_search(
        embeddings, labels, distance, gallery, gallery_labels, exclude
    )
    one_of("rule", rule, ("step", "trapezoid"))
    total = 0.0
    for same in ranked(search):
        row, place = np.nonzero(same)
        members = np.bincount(row)
        # 1, 2, ... for the members of each row.
        number = np.arange(1, len(row) + 1)
        number -= np.repeat(np.cumsum(members) - members, members)
        precision = number / (place + 1)
        if rule == "trapezoid":
            before = np.where(place, (number - 1) / np.maximum(place, 1), 1)
            precision = (before + precision) / 2
        total += np.sum(np.bincount(row, precision) / members)
    return float(total / len(search.rows))
