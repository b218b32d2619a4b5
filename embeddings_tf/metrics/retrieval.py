"""Retrieval metrics: are the nearest neighbours in the same class?"""

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import numpy as np

from embeddings_tf.metrics.gallery_search import blocks_by_distance
from embeddings_tf.metrics.gallery_search import blocks_by_score
from embeddings_tf.metrics.gallery_search import checked_search
from embeddings_tf.metrics.gallery_search import ranked
from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import function
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
    progress: Callable[[int], object] | None = None,
) -> dict[int, float]:
    """Share of queries with a row of their class among the k nearest.

    Use it to evaluate embeddings by search: every row is a query, and the
    gallery is ranked by distance. Without a `gallery` the rows search among
    each other, and a query never finds its own row.

    The search is exact. Matrix products propose the nearest rows, in float32
    where its precision suffices, and their distances are computed again in
    float64. A query is compared with the whole gallery if rounding could hide
    a nearer row, so outliers, offsets and near-twins do not change the result,
    except beside an outlier that is 1e270 times larger.
    Rows at equal distances are ranked by their position in the gallery; cosine
    distances of multiples of one row are equal up to rounding, which then
    decides. Time is proportional to queries times gallery rows; memory is
    copies of the gallery in float64 and float32, and a few blocks.

    Formula:

    ```
    recall@k = mean over queries of [any of the k nearest is of its class]
    ```

    Args:
        embeddings: Queries, `(n, dim)`.
        labels: Integers `(n,)`.
        k: One or several numbers of neighbours.
        distance: `"l2"` (Euclidean) or `"cosine"`; a row of zeros has cosine
            0 with every row. Or a score as in `score_all_pairs`: a function
            of queries `(a, dim)` and gallery rows `(b, dim)` that returns
            `(a, b)`, larger for more similar rows. For a learned distance
            take `layers.PairDistance.all_pairs`: its logits keep the order
            where probabilities are 1. Scores may be infinite or integers.
        gallery: `(m, dim)`, the rows to search. None: `embeddings`.
        gallery_labels: Integers `(m,)`; required with `gallery`.
        exclude: Gallery rows that a query ignores: booleans `(n, m)`. For
            large sets, a function of query numbers `(rows, 1)` and gallery
            numbers `(1, columns)`, called block by block, that returns
            booleans of a shape that broadcasts with both. For Market-1501,
            which ignores the label -1 and the query's person in the query's
            camera:
            `lambda i, j: (gallery_labels[j] == -1) | (labels[i] ==
            gallery_labels[j]) & (cameras[i] == gallery_cameras[j])`.
        progress: Function called with a number of queries, again and again
            during the search; all calls together have n.

    Returns:
        A dictionary from each `k` to the recall, in `[0, 1]`. Queries without
        a (different) row of their class in the gallery are ignored. For
        random embeddings the recall is the probability that one of k random
        rows has the query's class.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong rank or of
            different lengths; if `distance` is unknown, or a score that
            returns NaN or another shape; if `exclude` is not boolean or of
            another shape; if `progress` cannot be called; or if no query has a
            row of its class to find.

    Reference:
        - [Oh Song, Xiang, Jegelka & Savarese, 2016](https://arxiv.org/abs/1511.06452)
        - `exclude`: [Zheng et al., 2015](https://www.cv-foundation.org/openaccess/content_iccv_2015/html/Zheng_Scalable_Person_Re-Identification_ICCV_2015_paper.html),
          Market-1501

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
    if progress is not None:
        progress = function("progress", progress, "the number of queries")
        if ignored := len(search.labels) - len(search.rows):
            progress(ignored)
    hits = dict.fromkeys(ks, 0)
    ranked = blocks_by_score if callable(distance) else blocks_by_distance
    for block, neighbours in ranked(search, max(ks), progress):
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
    """Mean average precision (mAP): quality of the whole ranking.

    Use it where a query has several rows of its class to find and all of them
    count, as in person re-identification. `recall_at_k` needs only one. Every
    query ranks the whole gallery by distance. The value is 1 if all rows of
    the query's class come first.

    Formula:

    ```
    precision[r] = members of the query's class among the r nearest / r
    average precision = mean over members, at rank r each, of precision[r]
    mAP = mean over queries of average precision
    ```

    With `rule="trapezoid"` a member at rank r counts `(precision[r - 1] +
    precision[r]) / 2`, where `precision[0] = 1`: the area under precision over
    recall by the trapezoidal rule. The evaluation code of Market-1501 uses
    this rule, from Oxford Buildings; its values are lower.

    Distances are computed in float64. Distances whose order is within rounding
    errors are computed again from differences of rows. Distances that still
    differ by rounding errors only are equal, and ranked by position in the
    gallery. Queries are processed in blocks: memory is a float64 copy of the
    gallery and a few blocks. Time is dominated by sorting the gallery for
    every query.

    Args:
        embeddings, labels, distance, gallery, gallery_labels, exclude: As in
            `recall_at_k`: queries `(n, dim)`, integers `(n,)`.
        rule: `"step"`, as in textbooks and scikit-learn, or `"trapezoid"`.

    Returns:
        A float in `[0, 1]`, 1 if every query ranks its class before all
        other rows. Queries without a row to find are ignored. For random
        embeddings it is about the class's share of the gallery; with R rows
        of the class among N and `rule="step"`, `H / N + (1 - H / N) (R - 1) /
        (N - 1)` with `H = 1 + 1/2 + ... + 1/N`.

    Raises:
        ValueError: As `recall_at_k`, or if `rule` is unknown.

    Reference:
        - `exclude`, `rule`: [Zheng et al., 2015](https://www.cv-foundation.org/openaccess/content_iccv_2015/html/Zheng_Scalable_Person_Re-Identification_ICCV_2015_paper.html),
          Market-1501
        - [Philbin, Chum, Isard, Sivic & Zisserman, 2007](https://doi.org/10.1109/CVPR.2007.383172),
          Oxford Buildings

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
        # 1, 2, ... for the rows of the class.
        number = np.arange(1, len(row) + 1)
        number -= np.repeat(np.cumsum(members) - members, members)
        precision = number / (place + 1)
        if rule == "trapezoid":
            before = np.where(place, (number - 1) / np.maximum(place, 1), 1)
            precision = (before + precision) / 2
        total += np.sum(np.bincount(row, precision) / members)
    return float(total / len(search.rows))
