"""Searches a gallery: yields rows in the order of similarity to a query."""

import dataclasses
from collections.abc import Callable
from collections.abc import Iterator
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.scoring import score_all_pairs
from embeddings_tf.ops import arguments
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.counted import counted
from embeddings_tf.ops.nearest import Distances
from embeddings_tf.ops.nearest import nearest
from embeddings_tf.ops.other_rows import other_rows

# Number of queries and gallery rows whose scores are computed at once.
_QUERY_BLOCK, _GALLERY_BLOCK = 1024, 4096
# Number of distances in memory when the whole gallery is ranked.
_RANKED_BLOCK = 2**22


@dataclasses.dataclass(frozen=True, eq=False)
class Search:
    """Checked arguments; `rows` are the queries with something to find."""

    queries: np.ndarray
    labels: np.ndarray
    gallery: np.ndarray
    gallery_labels: np.ndarray
    distance: Any  # a name, or a function of embeddings
    among_themselves: bool
    exclude: Any  # booleans, a function of rows, or None
    rows: np.ndarray = dataclasses.field(default_factory=lambda: np.arange(0))

    def hidden(self, rows: np.ndarray, start: int, stop: int) -> np.ndarray:
        """Marks gallery rows in `start` to `stop` that `rows` must not find."""
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
        found = arguments.result(
            "exclude",
            self.exclude(rows[:, None], np.arange(start, stop)[None]),
        )
        if found.dtype != bool or found.ndim > 2:
            raise _exclude_error(found, shape)
        try:
            return np.broadcast_to(found, shape)
        except ValueError as error:
            raise _exclude_error(found, shape) from error


def checked_search(
    embeddings, labels, distance, gallery, gallery_labels, exclude
) -> Search:
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
        labels, gallery_labels = arrays.comparable_ids(labels, gallery_labels)
        if gallery.shape[1] != queries.shape[1]:
            raise ValueError(
                "`embeddings` and `gallery` must have the same dimension; "
                f"received {queries.shape[1]} and {gallery.shape[1]}. Embed "
                "both with the same encoder."
            )
    if exclude is not None and not callable(exclude):
        exclude = arguments.array("exclude", exclude)
        shape = (len(queries), len(gallery))
        if exclude.dtype != bool or exclude.shape != shape:
            raise _exclude_error(exclude, shape)
    search = Search(
        queries,
        labels,
        gallery,
        gallery_labels,
        distance,
        among_themselves,
        exclude,
    )
    rows = np.flatnonzero(members_of(search))
    if not len(rows):
        raise ValueError(
            "At least one query must have a member of its class to find; "
            f"received {counted(len(labels), 'query', 'queries')} without "
            "any. Pass more examples per class, the gallery's labels in the "
            "ids of `labels`, or an `exclude` that keeps some."
        )
    return dataclasses.replace(search, rows=rows)


def _exclude_error(found: np.ndarray, shape: tuple[int, int]) -> ValueError:
    return ValueError(
        "`exclude` must be booleans, one row per query and one column per row "
        f"of the gallery, here {shape}; received dtype {found.dtype} and shape "
        f"{found.shape}. Compare, for instance cameras[:, None] == "
        "gallery_cameras, or convert by astype(bool)."
    )


def members_of(search: Search) -> np.ndarray:
    """Counts the rows of its class that each query can find."""
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
            if search.among_themselves:  # the query itself is not counted
                own = (block >= start) & (block < start + len(labels))
                lost[own, block[own] - start] = False
            members[block] -= np.sum(lost, axis=1)
    return members


def blocks_by_distance(
    search: Search,
    count: int,
    progress: Callable[[int], object] | None = None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields blocks of `rows` and the gallery rows nearest to each, in order.

    If a query may find fewer than `count` rows, hidden rows follow. By then it
    has found every row of its class. `progress` is called with numbers of
    queries during the search.
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
            progress,
        )
        return
    found = nearest(
        distances,
        search.rows,
        count + search.among_themselves,
        progress=progress,
    )
    for block, places in found:
        if search.among_themselves:
            places = other_rows(places, block)
        yield block, places


def blocks_by_score(
    search: Search,
    count: int,
    progress: Callable[[int], object] | None = None,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """As `blocks_by_distance`, with the scores of a function."""
    count = min(count, len(search.gallery) - search.among_themselves)
    for first in range(0, len(search.rows), _QUERY_BLOCK):
        block = search.rows[first : first + _QUERY_BLOCK]
        best: list[np.ndarray] = []
        for start in range(0, len(search.gallery), _GALLERY_BLOCK):
            found = _scores(search, block, start, _GALLERY_BLOCK)
            if best:
                found = [
                    np.concatenate(both, axis=1)
                    for both in zip(best, found, strict=True)
                ]
            order = _order(*found)[:, :count]
            best = [np.take_along_axis(x, order, axis=1) for x in found]
        if progress is not None:
            progress(len(block))
        yield block, best[-1]


def _scores(
    search: Search, block: np.ndarray, start: int, size: int
) -> list[np.ndarray]:
    """Scores of queries and gallery rows from `start`.

    Returns three arrays `(rows, size)`: the scores, which rows are hidden, and
    the positions. Infinite scores are valid, so they cannot mark hidden rows.
    """
    scores = score_all_pairs(
        search.distance,
        search.queries[block],
        search.gallery[start : start + size],
    )
    stop = start + scores.shape[1]
    places = np.broadcast_to(np.arange(start, stop), scores.shape)
    return [scores, search.hidden(block, start, stop), places]


def _order(scores, hidden, places):
    """Sorts the highest scores first, hidden rows last, and equal scores by
    position."""
    # Negation would overflow integers, and float64 would round them.
    falling = -scores if scores.dtype.kind == "f" else ~scores
    return np.lexsort((places, falling, hidden), axis=1)


def ranked(search: Search) -> Iterator[np.ndarray]:
    """Yields `(rows, m)` booleans: is the r-th nearest gallery row a row of
    the query's class that the query may find?"""
    num = len(search.gallery)
    size = max(1, _RANKED_BLOCK // num)
    blocks = [
        search.rows[first : first + size]
        for first in range(0, len(search.rows), size)
    ]
    if callable(search.distance):
        for block in blocks:
            scores = _scores(search, block, 0, num)
            order, hidden = _order(*scores), scores[1]
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
            # Only groups of several classes; the order in others does not
            # matter.
            at = np.flatnonzero(np.isin(group, group[:-1][mixed[row]]))
            places = order[row, at]
            decided = _settled(distances, block[row], places, group[at])
            same[row, at] = same[row, at[decided]]
        yield same


def _settled(
    distances: Distances, query: int, places: np.ndarray, group: np.ndarray
) -> np.ndarray:
    """Orders gallery rows `places`, which are already sorted by `group`."""
    exact = distances.exact(np.full(len(places), query), places)
    order = np.lexsort((exact, group))
    exact, ordered = exact[order], group[order]
    differ = exact[1:] > exact[:-1] + distances.rounding(exact[1:])
    differ |= ordered[1:] != ordered[:-1]
    return order[np.lexsort((places[order], np.cumsum(np.append(0, differ))))]
