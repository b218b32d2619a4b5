"""Whether the nearest neighbours of an embedding are of its class."""

import dataclasses
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.scoring import score_all_pairs
from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.nearest import Distances
from embeddings_tf.ops.nearest import nearest

# Queries and gallery rows whose scores are computed at once.
_QUERY_BLOCK, _GALLERY_BLOCK = 1024, 4096
# Distances in memory when the whole gallery is ranked.
_RANKED_BLOCK = 2**22


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
    search = _search(
        embeddings, labels, distance, gallery, gallery_labels, exclude
    )
    ks = [
        positive_integer("k", value) for value in np.atleast_1d(array("k", k))
    ]
    if not ks:
        raise ValueError("`k` must not be empty; pass for instance k=(1,).")
    hits = dict.fromkeys(ks, 0)
    ranked = _highest if callable(distance) else _nearest
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
    search = _search(
        embeddings, labels, distance, gallery, gallery_labels, exclude
    )
    one_of("rule", rule, ("step", "trapezoid"))
    total = 0.0
    for same in _ranked(search):
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


@dataclasses.dataclass(frozen=True, eq=False)
class _Search:
    """Checked arguments; `rows` are the queries that have something to find."""

    queries: np.ndarray
    labels: np.ndarray
    gallery: np.ndarray
    gallery_labels: np.ndarray
    distance: str | Callable
    among_themselves: bool
    exclude: np.ndarray | Callable | None
    rows: np.ndarray | None = None

    def hidden(self, rows: np.ndarray, start: int, stop: int) -> np.ndarray:
        """Which gallery rows from `start` to `stop` `rows` may not find."""
        found = np.zeros((len(rows), stop - start), bool)
        if self.among_themselves:
            own = (rows >= start) & (rows < stop)
            found[own, rows[own] - start] = True
        if self.exclude is not None:
            found |= self.excluded(rows, start, stop)
        return found

    def excluded(self, rows: np.ndarray, start: int, stop: int) -> np.ndarray:
        if not callable(self.exclude):
            return self.exclude[rows, start:stop]
        shape = (len(rows), stop - start)
        found = np.asarray(
            self.exclude(rows[:, None], np.arange(start, stop)[None])
        )
        if found.dtype != bool or found.ndim > 2:
            raise _exclude_error(found, shape)
        try:
            return np.broadcast_to(found, shape)
        except ValueError as error:
            raise _exclude_error(found, shape) from error


def _search(
    embeddings, labels, distance, gallery, gallery_labels, exclude
) -> _Search:
    queries = arrays.numbers("embeddings", embeddings, 2, "(n, dim)")
    labels = arrays.integers("labels", labels, 1, "(n,)")
    arrays.same_length(embeddings=queries, labels=labels)
    if not callable(distance):
        one_of("distance", distance, ("l2", "cosine"))
    if (gallery is None) != (gallery_labels is None):
        raise ValueError(
            "`gallery` and `gallery_labels` must be passed together; received "
            "only one of them. Leave out both to search among `embeddings`."
        )
    among_themselves = gallery is None
    if among_themselves:
        gallery, gallery_labels = queries, labels
    else:
        gallery = arrays.numbers("gallery", gallery, 2, "(m, dim)")
        gallery_labels = arrays.integers(
            "gallery_labels", gallery_labels, 1, "(m,)"
        )
        arrays.same_length(gallery=gallery, gallery_labels=gallery_labels)
        if gallery.shape[1] != queries.shape[1]:
            raise ValueError(
                "`embeddings` and `gallery` must have the same dimension; "
                f"received {queries.shape[1]} and {gallery.shape[1]}. Embed "
                "both with the same encoder."
            )
    if exclude is not None and not callable(exclude):
        exclude = np.asarray(exclude)
        shape = (len(queries), len(gallery))
        if exclude.dtype != bool or exclude.shape != shape:
            raise _exclude_error(exclude, shape)
    search = _Search(
        queries,
        labels,
        gallery,
        gallery_labels,
        distance,
        among_themselves,
        exclude,
    )
    rows = np.flatnonzero(_members(search))
    if not len(rows):
        raise ValueError(
            "At least one query must have a member of its class to find; "
            f"received {len(labels)} queries without any. Pass more examples "
            "per class, the gallery's labels in the ids of `labels`, or an "
            "`exclude` that leaves some."
        )
    return dataclasses.replace(search, rows=rows)


def _exclude_error(found: np.ndarray, shape: tuple[int, int]) -> ValueError:
    return ValueError(
        "`exclude` must be booleans, one row per query and one column per row "
        f"of the gallery, here {shape}; received dtype {found.dtype} and shape "
        f"{found.shape}. Compare, for instance cameras[:, None] == "
        "gallery_cameras, or convert by astype(bool)."
    )


def _members(search: _Search) -> np.ndarray:
    """How many of its class each query can find."""
    classes, count = np.unique(search.gallery_labels, return_counts=True)
    place = np.searchsorted(classes, search.labels).clip(max=len(classes) - 1)
    members = np.where(classes[place] == search.labels, count[place], 0)
    members = np.maximum(members - search.among_themselves, 0)
    if search.exclude is None:
        return members
    rows = np.flatnonzero(members)
    for first in range(0, len(rows), _QUERY_BLOCK):
        block = rows[first : first + _QUERY_BLOCK]
        for start in range(0, len(search.gallery), _GALLERY_BLOCK):
            labels = search.gallery_labels[start : start + _GALLERY_BLOCK]
            lost = search.labels[block, None] == labels
            lost &= search.excluded(block, start, start + len(labels))
            if search.among_themselves:  # already taken off
                own = (block >= start) & (block < start + len(labels))
                lost[own, block[own] - start] = False
            members[block] -= np.sum(lost, axis=1)
    return members


def _nearest(
    search: _Search, count: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields blocks of `rows` and the gallery rows nearest to each, in order.

    Where a query may find fewer than `count`, rows that are hidden from it
    follow; by then it has found every member of its class.
    """
    size = len(search.gallery)
    count = min(count, size - search.among_themselves)
    distances = Distances(search.queries, search.gallery, search.distance)
    if search.exclude is not None:
        yield from nearest(
            distances,
            search.rows,
            count,
            lambda block: search.hidden(block, 0, size),
        )
        return
    found = nearest(distances, search.rows, count + search.among_themselves)
    for block, places in found:
        if search.among_themselves:
            others = places != block[:, None]
            # Itself is not among them if enough of its twins come before.
            others[np.all(others, axis=1), -1] = False
            places = places[others].reshape(len(block), count)
        yield block, places


def _highest(
    search: _Search, count: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """As `_nearest`, by the scores of a function instead of a distance."""
    count = min(count, len(search.gallery) - search.among_themselves)
    for first in range(0, len(search.rows), _QUERY_BLOCK):
        block = search.rows[first : first + _QUERY_BLOCK]
        best = None
        for start in range(0, len(search.gallery), _GALLERY_BLOCK):
            found = _falling_scores(search, block, start, _GALLERY_BLOCK)
            if best is not None:
                found = [
                    np.concatenate(both, axis=1)
                    for both in zip(best, found, strict=True)
                ]
            order = _order(*found)[:, :count]
            best = [np.take_along_axis(x, order, axis=1) for x in found]
        yield block, best[-1]


def _falling_scores(
    search: _Search, block: np.ndarray, start: int, size: int
) -> list[np.ndarray]:
    """Scores of queries and gallery rows from `start`, the highest smallest.

    With them, each `(rows, size)`, which of them are hidden, and their places.
    Infinite scores rank like others, so they cannot mark the hidden.
    """
    scores = score_all_pairs(
        search.distance,
        search.queries[block],
        search.gallery[start : start + size],
    )
    # Negation would overflow for integers, and float64 would round them.
    falling = -scores if scores.dtype.kind == "f" else ~scores
    stop = start + scores.shape[1]
    places = np.broadcast_to(np.arange(start, stop), scores.shape)
    return [falling, search.hidden(block, start, stop), places]


def _order(falling, hidden, places):
    """Hidden ones last; of equal scores the earlier place first."""
    return np.lexsort((places, falling, hidden), axis=1)


def _ranked(search: _Search) -> Iterator[np.ndarray]:
    """Yields `(rows, m)` booleans: whether the nearest, second nearest, ...
    gallery row is one of the query's class that it may find."""
    num = len(search.gallery)
    size = max(1, _RANKED_BLOCK // num)
    blocks = [
        search.rows[first : first + size]
        for first in range(0, len(search.rows), size)
    ]
    if callable(search.distance):
        for block in blocks:
            found = _falling_scores(search, block, 0, num)
            order, hidden = _order(*found), found[1]
            same = search.gallery_labels[order] == search.labels[block, None]
            yield same & ~np.take_along_axis(hidden, order, axis=1)
        return
    distances = Distances(search.queries, search.gallery, search.distance)
    for block in blocks:
        found, squares = distances.fast(block)
        found[search.hidden(block, 0, num)] = np.inf
        order = np.argsort(found, axis=1)
        found = np.take_along_axis(found, order, axis=1)
        same = search.gallery_labels[order] == search.labels[block, None]
        same &= np.isfinite(found)
        near = found[:, :-1] + distances.slack(squares, found[:, :-1])
        unsure = found[:, 1:] <= near
        mixed = unsure & (same[:, 1:] != same[:, :-1])
        for row in np.flatnonzero(np.any(mixed, axis=1)):
            group = np.cumsum(np.append(False, ~unsure[row]))
            # Only groups of more than one class: others may keep any order.
            at = np.flatnonzero(np.isin(group, group[:-1][mixed[row]]))
            places = order[row, at]
            decided = _settled(distances, block[row], places, group[at])
            same[row, at] = same[row, at[decided]]
        yield same


def _settled(
    distances: Distances, query: int, places: np.ndarray, group: np.ndarray
) -> np.ndarray:
    """Order of gallery rows `places`, whose `group` is in order already."""
    exact = distances.exact(np.full(len(places), query), places)
    order = np.lexsort((exact, group))
    exact, ordered = exact[order], group[order]
    differ = exact[1:] > exact[:-1] + distances.rounding(exact[1:])
    differ |= ordered[1:] != ordered[:-1]
    return order[np.lexsort((places[order], np.cumsum(np.append(0, differ))))]
