"""Draws metrics of several methods as bars, one panel per metric."""

from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from embeddings_tf.viz import methods


def bars_figure(
    measures: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    baselines: Mapping[str, Sequence[float]] | None = None,
    starts: Mapping[str, float] | None = None,
    title: str = "",
):
    """Draws measures of several methods as bars, one panel per measure.

    Use it for modularity, explicitness and single-dimension AUC of several
    embeddings. Bars are means over the runs of a method (folds, seeds). The
    lines on bars are one standard error in both directions, and are missing
    for a single run. The untrained network is a dashed line, with its standard
    error as a grey band. An axis that does not start at 0 is cut at its foot
    and labelled with its start, because the lengths of such bars mislead.
    Panels of more than six methods are stacked.

    Args:
        measures: From names of measures, the panels, to methods and the
            values of their runs, fractions in `[0, 1]`. All panels have the
            same methods.
        baselines: From names of measures to the values of an untrained
            network's runs, in `[0, 1]`; a method should exceed them.
        starts: From names of measures to the lower end of their axis, in
            `[0, 1)`; 0 if not given. For instance 0.5, chance, for an AUC.
        title: Title above all panels.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it.

    Raises:
        ValueError: If measures, methods or runs are missing, if panels differ
            in their methods, if a value is not finite or outside `[0, 1]`, if
            a mean lies below the start of its axis, or if `baselines` or
            `starts` names a measure that is not drawn.

    Reference:
        - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312),
          Figures 3 and 4; their axes start at 0.7 to 0.9.

    Example:

    >>> figure = embeddings_tf.viz.bars_figure(
    ...     {
    ...         "modularity": {"triplet": [0.8, 0.9], "F": [0.9, 0.9]},
    ...         "explicitness": {"triplet": [0.9, 1.0], "F": [1.0, 1.0]},
    ...     },
    ...     baselines={"modularity": [0.78]},
    ...     starts={"modularity": 0.75},
    ... )
    >>> [float(panel.get_ylim()[0]) for panel in figure.axes]
    [0.75, 0.0]
    """
    from matplotlib.figure import Figure

    methods.by_name("`measures`", measures, "one measure")
    for values in measures.values():
        methods.by_name("`measures`", values, "one method")
    baselines = {} if baselines is None else baselines
    starts = {} if starts is None else starts
    for name, given in (("baselines", baselines), ("starts", starts)):
        if given:
            methods.by_name(f"`{name}`", given, "one measure")
        if unknown := [m for m in given if m not in measures]:
            raise ValueError(
                f"`{name}` names {unknown}, which are not among the measures "
                f"{list(measures)}."
            )
    names = list(next(iter(measures.values())))
    width = max(3.2, 1.2 + 0.55 * len(names))
    stacked = len(names) > 6
    if stacked:  # side by side, the letters would be too small
        size, grid = (width, 1.6 + 2.6 * len(measures)), (len(measures), 1)
    else:
        size, grid = (width * len(measures), 4.4), (1, len(measures))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(*grid, sharex=stacked, squeeze=False).ravel()
    num_runs: list[int] = []
    for panel, (measure, values) in zip(panels, measures.items(), strict=True):
        if set(values) != set(names):
            raise ValueError(
                f"All measures must have the same methods; {measure!r} has "
                f"{list(values)}, the first {names}."
            )
        start = methods.fraction("starts", starts.get(measure, 0))
        if start == 1:
            raise ValueError(
                f"The axis of {measure!r} must start below 1; received 1."
            )
        runs = [methods.fractions(name, values[name]) for name in names]
        num_runs += map(len, runs)
        _bars(panel, runs, start, names, measure)
        if measure in baselines:
            baseline = methods.fractions("baselines", baselines[measure])
            num_runs.append(len(baseline))
            _baseline(panel, baseline, start, measure)
        panel.set_title(measure)
        panel.set_ylim(start, 1 + 0.03 * (1 - start))
        panel.set_yticks(np.linspace(start, 1, 6))
        panel.yaxis.set_major_formatter("{x:.2f}")
        if start > 0:
            _mark_cut_axis(panel, start)
        panel.spines[["top", "right"]].set_visible(False)
        panel.grid(axis="y", alpha=0.3)
        panel.set_axisbelow(True)
    note = methods.what_is_drawn(num_runs)
    if baselines:
        note += "; dashed: untrained network"
    figure.supxlabel(note, fontsize=9)
    return methods.finished(figure, title)


def _bars(panel, runs, start: float, names: list[str], measure: str) -> None:
    for index, (values, name) in enumerate(zip(runs, names, strict=True)):
        mean, error = methods.mean_and_error(values)
        _check_visible(f"{measure} of {name!r}", mean, start)
        panel.bar(
            index,
            mean - start,
            bottom=start,
            width=0.7,
            yerr=error,
            capsize=3,
            color=methods.style(index)["color"],
            edgecolor="black",
            linewidth=0.6,
            error_kw={"elinewidth": 1.2},
        )
    crowded = sum(map(len, names)) > 24
    panel.set_xticks(
        range(len(names)),
        names,
        rotation=40 if crowded else 0,
        ha="right" if crowded else "center",
        rotation_mode="anchor" if crowded else "default",
    )
    panel.set_xlim(-0.6, len(names) - 0.4)


def _baseline(panel, values: np.ndarray, start: float, measure: str) -> None:
    mean, error = methods.mean_and_error(values)
    _check_visible(f"the baseline of {measure}", mean, start)
    panel.axhline(mean, color="black", linestyle="--", linewidth=1.2, zorder=3)
    if error is not None:
        panel.axhspan(
            mean - error, mean + error, color="grey", alpha=0.3, linewidth=0
        )


def _check_visible(what: str, mean: np.ndarray, start: float) -> None:
    if mean < start:
        raise ValueError(
            f"The axis must start below {what}, {mean:.3g}; received "
            f"{start:g}. Start lower."
        )


def _mark_cut_axis(panel, start: float) -> None:
    """Draws two strokes across the foot of the axis, and its start as text."""
    panel.plot(
        [0, 0],
        [0.025, 0.05],
        transform=panel.transAxes,
        linestyle="",
        marker=[(-1, -0.5), (1, 0.5)],
        markersize=11,
        color="black",
        markeredgewidth=1.2,
        clip_on=False,
    )
    panel.set_ylabel(f"axis starts at {start:g}, not at 0")
