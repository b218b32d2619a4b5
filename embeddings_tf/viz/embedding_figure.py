"""Draws a 2-D embedding with classes, factors and uncertainty."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import integer_at_least
from embeddings_tf.ops.arguments import sequence
from embeddings_tf.ops.arguments import text
from embeddings_tf.viz import methods


def embedding_figure(
    mean,
    variance,
    labels,
    seen,
    factors: Mapping[str, np.ndarray],
    *,
    title: str = "",
    num_ellipses: int = 6,
    axis_names: tuple[str, str] = ("dimension 1", "dimension 2"),
):
    """Draws a 2-D Gaussian embedding: one panel per factor of the label.

    Use it to see whether classes separate, whether axes have a meaning, and
    which inputs are uncertain. Points are means. Around a few points of each
    class, an ellipse shows one standard deviation. The label of a class is at
    its centre, or moved up or down where labels would overlap. With `seen`,
    classes seen in training have dots and bold labels, and unseen classes have
    crosses and boxed labels.

    Args:
        mean: `(n, dim)`; the first two dimensions are drawn.
        variance: `(n, dim)`, like `mean`, or None for a point embedding
            (without ellipses).
        labels: `(n,)` class ids, integers or strings, shown near the
            class centres.
        seen: `(n,)` bool, whether the class was in training. None: all classes
            are drawn alike, as dots.
        factors: From panel titles to `(n,)` small integers or strings, the
            colours: for numbers, the first and the second digit.
        title: Title above all panels.
        num_ellipses: Number of ellipses per class, at least 0.
        axis_names: Labels of the horizontal and the vertical axis.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it.

    Raises:
        ValueError: If arrays are empty, not finite, or of the wrong rank, type
            or length. If the embedding has fewer than two dimensions, or a
            variance is negative. If `factors` is empty, or `axis_names` are
            not two texts.

    Reference:
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702),
          Figure 7.

    Example:

    >>> mean = np.random.randn(20, 2)
    >>> labels = np.arange(20) % 4
    >>> figure = embeddings_tf.viz.embedding_figure(
    ...     mean, 0.01 + mean**2, labels, labels < 3, {"parity": labels % 2}
    ... )
    >>> len(figure.axes)
    1
    """
    from matplotlib.figure import Figure

    divided = seen is not None
    points = _checked_points(mean, variance, labels, seen)
    factors = _checked_factors(factors, len(points.mean))
    horizontal, vertical = _two_texts(axis_names)
    num_ellipses = integer_at_least("num_ellipses", num_ellipses, 0)
    classes = np.unique(points.labels)
    shown = np.concatenate(
        [np.flatnonzero(points.labels == c)[:num_ellipses] for c in classes]
    )
    figure = Figure(figsize=(7.2 * len(factors), 7), layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(factors), squeeze=False)[0])
    low, high = np.percentile(points.mean, [0.3, 99.7], axis=0)
    if points.stddev is not None:
        low, high = _around_ellipses(
            points.mean[shown], points.stddev[shown], low, high
        )
    margin = 0.06 * (high - low) + 1e-6 * np.maximum(1, np.abs(high))
    low, high = low - margin, high + margin
    places = _places_of_names(points, classes, low, high)
    for panel, (name, values) in zip(panels, factors.items(), strict=True):
        kinds, of_kinds, colours = _colours(values)
        if points.stddev is not None:
            _draw_ellipses(
                panel, points.mean[shown], points.stddev[shown], colours[shown]
            )
        _draw_points(panel, points, colours)
        for c, place in zip(classes, places, strict=True):
            _write_class(panel, points, c, place, divided)
        panel.set_xlim(low[0], high[0])
        panel.set_ylim(low[1], high[1])
        panel.set_title(f"coloured by {name}")
        panel.set_xlabel(horizontal)
        panel.set_ylabel(vertical)
        _draw_legend(panel, name, kinds, of_kinds)
    # One panel is too narrow for the complete key.
    separator = ";\n" if len(panels) == 1 else "; "
    keys = ["dots, bold: classes seen in training; crosses, boxed: unseen"]
    keys = keys * divided
    if points.stddev is not None:
        keys.append("ellipses: one standard deviation")
    above = [title] * bool(title) + [separator.join(keys)] * bool(keys)
    return methods.finished(figure, "\n".join(above))


class _Points(NamedTuple):
    """What is drawn: the first two dimensions, with class and uncertainty."""

    mean: np.ndarray  # (n, 2)
    stddev: np.ndarray | None  # (n, 2)
    labels: np.ndarray  # (n,)
    seen: np.ndarray  # (n,)


def _checked_points(mean, variance, labels, seen) -> _Points:
    mean = arrays.numbers("mean", mean, 2, "(n, dim)")
    if mean.shape[1] < 2:
        raise ValueError(
            "A figure needs embeddings of at least two dimensions; received "
            f"shape {mean.shape}."
        )
    methods.drawable("mean", mean)
    labels = _names("labels", labels)
    _check_length("labels", labels, len(mean))
    if seen is None:
        seen = np.ones(len(mean), bool)
    else:
        seen = arrays.booleans("seen", seen, 1, "(n,)")
        _check_length("seen", seen, len(mean))
    if variance is None:
        return _Points(mean[:, :2], None, labels, seen)
    variance = arrays.numbers("variance", variance, 2, "(n, dim)")
    if variance.shape[1] != mean.shape[1] or variance.min() < 0:
        raise ValueError(
            "`variance` must be at least 0 and have the shape of `mean`, "
            f"{mean.shape}; received shape {variance.shape} and the "
            f"smallest value {variance.min():g}."
        )
    _check_length("variance", variance, len(mean))
    return _Points(mean[:, :2], np.sqrt(variance[:, :2]), labels, seen)


def _checked_factors(factors, count: int) -> dict[str, np.ndarray]:
    if not isinstance(factors, Mapping) or not factors:
        raise ValueError(
            "`factors` must be a dictionary of at least one factor, the "
            f"colours of a panel; received {factors!r}. Pass for instance "
            "{'class': labels}."
        )
    found = {
        name: _names(str(name), _as_integers(values))
        for name, values in factors.items()
    }
    for name, values in found.items():
        _check_length(name, values, count)
    return found


def _check_length(name, values: np.ndarray, count: int) -> None:
    if len(values) != count:
        raise ValueError(
            f"{name!r} has {len(values)} entries for {count} embeddings; "
            "give one for each."
        )


def _colours(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The different values, a colour for each, and the colour of each point."""
    kinds = np.unique(values)
    numbers = np.arange(len(kinds))
    if kinds.dtype.kind in "iu" and np.isin(kinds, _DIGITS).all():
        numbers = kinds  # a digit has one colour in all panels
    of_kinds = np.array(_TEN_COLOURS)[numbers % len(_TEN_COLOURS)]
    return kinds, of_kinds, of_kinds[np.searchsorted(kinds, values)]


def _draw_ellipses(panel, mean, stddev, colours) -> None:
    from matplotlib.collections import EllipseCollection

    panel.add_collection(
        EllipseCollection(
            2 * stddev[:, 0],
            2 * stddev[:, 1],
            np.zeros(len(mean)),
            units="xy",
            offsets=mean,
            offset_transform=panel.transData,
            facecolors="none",
            edgecolors=colours,
            linewidths=0.6,
            alpha=0.6,
        )
    )


def _draw_points(panel, points: _Points, colours) -> None:
    for is_seen, marker, size in ((True, "o", 5), (False, "x", 9)):
        rows = points.seen == is_seen
        panel.scatter(
            *points.mean[rows].T,
            c=colours[rows],
            s=size,
            marker=marker,
            linewidths=0 if is_seen else 0.6,
            alpha=0.5,
        )


def _places_of_names(points: _Points, classes, low, high) -> np.ndarray:
    """The centres of the classes, moved up or down where names would overlap.

    Names of more than `_MOST_MOVED` classes stay at the centres, and so do
    names in a panel without height or width.
    """
    centres = [
        np.median(points.mean[points.labels == c], axis=0) for c in classes
    ]
    if len(classes) > _MOST_MOVED or not np.all(high > low):
        return np.array(centres)
    places = (np.array(centres) - low) / (high - low)  # 0 to 1
    widths = _NAME_WIDTH * np.array([1 + len(_short(c)) for c in classes])
    beside = np.abs(places[:, None, 0] - places[:, 0]) < (
        (widths[:, None] + widths) / 2
    )
    np.fill_diagonal(beside, False)
    order = np.arange(len(classes))
    for _ in range(_MOVES):
        above = places[:, None, 1] - places[:, 1]
        overlap = np.where(beside, _NAME_HEIGHT - np.abs(above), 0)
        if overlap.max() <= 1e-3 * _NAME_HEIGHT:
            break
        # Names at one place are told apart by their order.
        direction = np.sign(above) + (above == 0) * np.sign(
            order[:, None] - order
        )
        places[:, 1] += 0.5 * np.sum(
            direction * np.maximum(overlap, 0) / 2, axis=1
        )
    places[:, 1] = np.clip(places[:, 1], 0, 1)
    return low + places * (high - low)


def _write_class(panel, points: _Points, label, place, divided) -> None:
    """Writes the name of a class at a place."""
    rows = points.labels == label
    is_seen = points.seen[rows][0]
    panel.text(
        *place,
        _short(label),
        fontsize=8,
        weight="bold" if divided and is_seen else "normal",
        ha="center",
        va="center",
        bbox={
            "boxstyle": "round,pad=0.15",
            "facecolor": "white",
            "edgecolor": "none" if is_seen else "black",
            "alpha": 0.75,
            "linewidth": 0.8,
        },
    )


def _draw_legend(panel, name: str, kinds, of_kinds) -> None:
    from matplotlib.lines import Line2D

    panel.legend(
        [
            Line2D([], [], color=colour, marker="s", linestyle="")
            for colour in of_kinds
        ],
        [_short(kind) for kind in kinds],
        title=name,
        loc="upper left",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        fontsize=8,
    )


def _around_ellipses(centre, stddev, low, high):
    """Limits that contain every ellipse with a centre inside."""
    inside = np.all((centre >= low) & (centre <= high), axis=1)
    return (
        np.min([low, *(centre - stddev)[inside]], axis=0),
        np.max([high, *(centre + stddev)[inside]], axis=0),
    )


def _two_texts(names) -> tuple[str, str]:
    """Returns the names of both axes."""
    found = sequence("axis_names", names)
    if len(found) != 2:
        raise ValueError(f"`axis_names` must be two texts; received {names!r}.")
    return text("axis_names", found[0]), text("axis_names", found[1])


def _names(name: str, values) -> np.ndarray:
    """Returns integers or strings `(n,)`."""
    found = array(name, values)
    if found.dtype.kind in "US" and found.ndim == 1 and found.size:
        return found
    return arrays.integers(name, values, 1, "(n,)")


def _short(name) -> str:
    """Shortens a name to leave room for the points."""
    name = str(name)
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _as_integers(values):
    """Converts booleans to 0 and 1; other arrays stay unchanged."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "b":
        return values.astype(int)
    return values


_LONGEST = 24
# Width of a character and height of a line, as shares of a panel.
_NAME_WIDTH, _NAME_HEIGHT = 0.012, 0.032
_MOVES = 200
_MOST_MOVED = 200  # classes
_DIGITS = range(10)
_TEN_COLOURS = (
    "#1f77b4 #ff7f0e #2ca02c #d62728 #9467bd "
    "#8c564b #e377c2 #7f7f7f #bcbd22 #17becf"
).split()
