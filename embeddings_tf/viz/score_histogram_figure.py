"""Draws histograms of scores, with the threshold of a decision."""

from collections.abc import Mapping

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import finite_number
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.viz import methods

# Scores outside these quantiles are drawn at the edge of the axes.
_QUANTILES = (0.005, 0.995)
_MOST_MARKS = 9


def score_histogram_figure(
    groups: Mapping[str, np.ndarray],
    threshold: float | None = None,
    *,
    name: str = "score",
    title: str = "",
    num_bins: int = 40,
    marks: Mapping[str, float] | None = None,
):
    """Draws a histogram of scores per group, with a threshold.

    Use it to see whether a threshold separates groups, for instance inputs of
    enrolled and of other classes, or pairs of one class and of two. The height
    is the share of a group in a bin, so groups of different sizes compare. The
    legend has the share of each group at or above the threshold. The axes end
    at the quantiles 0.005 and 0.995; scores outside are in the last bin.

    Args:
        groups: From names to scores `(n,)`, finite.
        threshold: The smallest accepted score; None: no line.
        name: Name of the score, under the horizontal axis.
        title: Title of the figure.
        num_bins: Number of bins.
        marks: From names to single scores, at most 9, drawn as lines with
            names in the legend; None: no marks. The axes contain them.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it.

    Raises:
        ValueError: If there are no groups or too many marks, or scores are
            empty or not finite.

    Example:

    >>> rng = np.random.default_rng(0)
    >>> figure = embeddings_tf.viz.score_histogram_figure(
    ...     {"same": rng.normal(size=99) + 3, "different": rng.normal(size=99)},
    ...     threshold=1.5,
    ... )
    >>> len(figure.axes[0].patches)
    2
    """
    from matplotlib.figure import Figure

    methods.by_name("`groups`", groups, "one group")
    num_bins = positive_integer("num_bins", num_bins)
    scores = {
        group: arrays.numbers(f"groups[{group!r}]", values, 1, "(n,)").astype(
            np.float64
        )
        for group, values in groups.items()
    }
    ends = [np.quantile(values, _QUANTILES) for values in scores.values()]
    if threshold is not None:
        threshold = finite_number("threshold", threshold)
        ends.append(np.full(2, threshold))
    marks = _marks({} if marks is None else marks)
    ends += [np.full(2, score) for score in marks.values()]
    low, high = np.min(ends), np.max(ends)
    methods.drawable("groups", np.array([low, high]))
    margin = 0.03 * (high - low) or max(abs(low), 1.0) * 0.1
    edges = np.linspace(low - margin, high + margin, num_bins + 1)

    figure = Figure(figsize=(7, 4), layout="constrained")
    panel = figure.subplots()
    for index, (group, values) in enumerate(scores.items()):
        counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
        label = f"{group} ({len(values):,})"
        if threshold is not None:
            accepted = 100 * np.mean(values >= threshold)
            label += f": {accepted:.1f} % accepted"
        panel.stairs(
            100 * counts / len(values),
            edges,
            fill=True,
            alpha=0.45,
            color=methods.style(index)["color"],
            label=label,
        )
    digits = 6
    if threshold is not None:
        digits = arrays.telling_digits([*marks.values()], threshold)
        panel.axvline(
            threshold,
            color="black",
            linestyle="--",
            linewidth=1.2,
            label=f"threshold {threshold:.{digits}g}",
        )
    for index, (mark, score) in enumerate(marks.items(), start=len(scores)):
        panel.axvline(
            score,
            color=methods.style(index)["color"],
            linestyle=methods.style(index)["linestyle"],
            linewidth=2,
            label=f"{mark}: {score:.{digits}g}",
        )
    panel.set(
        xlim=(edges[0], edges[-1]), xlabel=name, ylabel="% of the group per bin"
    )
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(framealpha=0.8, edgecolor="none", fontsize=9)
    return methods.finished(figure, title)


def _marks(marks) -> dict[str, float]:
    if not isinstance(marks, Mapping) or len(marks) > _MOST_MARKS:
        raise ValueError(
            f"`marks` must be a dictionary of at most {_MOST_MARKS} scores; "
            f"received {marks!r}."
        )
    return {
        str(mark): finite_number(f"marks[{mark!r}]", score)
        for mark, score in marks.items()
    }
