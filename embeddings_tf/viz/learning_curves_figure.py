"""Draws learning curves: a metric against the training step."""

from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import text
from embeddings_tf.viz import methods

_MOST_THIN_LINES = 20


def learning_curves_figure(
    curves: Mapping[str, Sequence[Mapping[int, float]]],
    measure: str,
    *,
    step: str = "step",
    title: str = "",
):
    """Draws a measure against the training step, every run and the means.

    Use it before you compare methods, to see whether their curves are flat: a
    method that still improves was trained for too short a time. Thin lines are
    runs, with a dot at the end of each run; with more than 20 runs there are
    only the dots. Thick lines are means over the runs of a method, at the steps
    that all its runs have; a mean ends with the shortest run.

    Args:
        curves: From names of methods to runs, each from steps to values.
        measure: Label of the vertical axis, such as `"recall@1"`.
        step: Label of the horizontal axis, such as `"epoch"`.
        title: Title of the figure.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it.

    Raises:
        ValueError: If there is no method or no run, if runs of a method have
            no step in common, if a value is not finite, or if `measure` or
            `step` is not text.

    Example:

    >>> figure = embeddings_tf.viz.learning_curves_figure(
    ...     {"triplet": [{0: 0.1, 10: 0.5, 20: 0.6}, {0: 0.3, 10: 0.7}]},
    ...     "recall@1",
    ... )
    >>> figure.axes[0].get_legend_handles_labels()[0][0].get_ydata()
    array([0.2, 0.6])
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    methods.by_name("`curves`", curves, "one method")
    measure, step = text("measure", measure), text("step", step)
    lines = {name: methods.curves(name, runs) for name, runs in curves.items()}
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    panel = figure.subplots()
    has_thin = sum(map(len, lines.values())) <= _MOST_THIN_LINES
    for index, (name, runs) in enumerate(lines.items()):
        style = {**methods.style(index), "marker": ""}
        steps, mean = _mean(name, runs)
        panel.plot(steps, mean, label=name, linewidth=2.2, zorder=3, **style)
        if has_thin and len(runs) > 1:
            for x, y in runs:
                panel.plot(x, y, color=style["color"], linewidth=0.7, alpha=0.5)
        for x, y in runs:
            panel.plot(
                x[-1:], y[-1:], marker="o", markersize=4, color=style["color"]
            )
    panel.set(xlabel=step, ylabel=measure)
    panel.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    panel.grid(alpha=0.3)
    # Next to the panel, because curves may be anywhere inside.
    figure.legend(loc="outside right center")
    if any(len(runs) > 1 for runs in lines.values()):
        means = "lines: mean over runs"
        if has_thin:
            means = "thick: mean over runs; thin: each run"
        figure.supxlabel(f"{means}; dots: where a run ends", fontsize=9)
    return methods.finished(figure, title)


def _mean(name: str, runs) -> tuple[np.ndarray, np.ndarray]:
    """Returns the steps that all runs have, and the mean of the runs."""
    shared = runs[0][0]
    for steps, _ in runs[1:]:
        shared = np.intersect1d(shared, steps)
    if not shared.size:
        raise ValueError(
            f"Runs of {name!r} must have steps in common, to be averaged. "
            "Measure all of them at the same steps, or pass them as "
            "separate methods."
        )
    values = [value[np.isin(steps, shared)] for steps, value in runs]
    scaled, exponent = arrays.scaled(np.array(values))
    return shared, np.ldexp(np.mean(scaled, axis=0), exponent)
