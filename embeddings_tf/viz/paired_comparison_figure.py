"""Draws a measure of several methods that were measured in the same repeats."""

from collections.abc import Mapping
from collections.abc import Sequence

from embeddings_tf.metrics import arrays
from embeddings_tf.viz import methods


def paired_comparison_figure(
    values: Mapping[str, Sequence[float]],
    measure: str = "",
    *,
    title: str = "",
):
    """Draws a measure of several methods, with a line for each repeat.

    Use it to see whether a method is better in every repeat or only on
    average. A repeat is a seed, a fold or a division of the data that all
    methods share; its points are joined by a thin line. Bars are the means.

    Args:
        values: From methods to a number for each repeat, in the same order of
            repeats, at least two repeats.
        measure: Label of the vertical axis, such as `"recall@1"`.
        title: Title of the figure.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it.

    Raises:
        ValueError: If there are no methods, fewer than two repeats, or methods
            differ in their number of repeats, or a number is not finite.

    Example:

    >>> figure = embeddings_tf.viz.paired_comparison_figure(
    ...     {"triplet": [0.8, 0.9], "histogram": [0.7, 0.9]}, "recall@1"
    ... )
    >>> figure.axes[0].get_ylabel()
    'recall@1'
    """
    from matplotlib.figure import Figure

    methods.by_name("`values`", values, "one method")
    columns = {
        str(name): arrays.numbers(f"values: {name}", column, 1, "(repeats,)")
        for name, column in values.items()
    }
    arrays.same_length(**columns)
    num_repeats = len(next(iter(columns.values())))
    if num_repeats < 2:
        raise ValueError(
            "`values` must have at least two repeats of each method; received "
            f"{num_repeats}."
        )
    figure = Figure((1.8 + 1.1 * len(columns), 4), layout="constrained")
    panel = figure.add_subplot()
    positions = range(len(columns))
    for repeat in range(num_repeats):
        of_repeat = [column[repeat] for column in columns.values()]
        panel.plot(positions, of_repeat, color="#bbbbbb", lw=1, zorder=1)
    for position, column in enumerate(columns.values()):
        style = methods.style(position) | {"linestyle": ""}
        panel.plot([position] * num_repeats, column, ms=5, zorder=2, **style)
        ends = position - 0.3, position + 0.3
        colour = style["color"]
        panel.plot(ends, [column.mean()] * 2, color=colour, lw=2.5, zorder=3)
    panel.set_xticks(positions, columns, rotation=30, ha="right")
    panel.set_xlim(-0.6, len(columns) - 0.4)
    panel.set_ylabel(measure)
    panel.set_title(title)
    panel.grid(axis="y", alpha=0.3)
    panel.spines[["top", "right"]].set_visible(False)
    return methods.finished(figure)
