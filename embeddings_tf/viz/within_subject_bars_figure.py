"""Draws methods as bars whose error bars ignore differences of subjects."""

from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics.within_subject_interval import (
    within_subject_interval,
)
from embeddings_tf.viz import methods


def within_subject_bars_figure(
    groups: Mapping[str, Mapping[str, Sequence[float]]],
    measure: str = "",
    *,
    title: str = "",
):
    """Draws grouped bars of methods with within-subject error bars.

    Use it if all methods of a group were measured on the same data sets, folds
    or tasks (the subjects), whose difficulty differs more than the methods.
    Bars are means over subjects. Error bars are the 95 % intervals of
    `metrics.within_subject_interval`, one half width per group; groups of one
    method or one subject have none.

    Args:
        groups: From names of groups, such as conditions of a test, to methods
            and their values, one per subject, in the same order of subjects.
            Groups may lack methods.
        measure: Label of the vertical axis, such as `"accuracy, %"`.
        title: Title of the figure.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it.

    Raises:
        ValueError: If there are no groups, methods or values, methods of a
            group differ in their number of values, or a value is not finite.

    Reference:
        - [Masson & Loftus, 2003](https://doi.org/10.1037/h0087426)
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702),
          Figure 6

    Example:

    >>> figure = embeddings_tf.viz.within_subject_bars_figure(
    ...     {
    ...         "clean": {"PN": [64.0, 81.0, 90.0], "SPE": [66.0, 82.0, 93.0]},
    ...         "corrupt": {"PN": [42.0, 50.0, 71.0], "SPE": [48, 57, 76]},
    ...     },
    ...     "accuracy, %",
    ... )
    >>> [round(float(p.get_height()), 2) for p in figure.axes[0].patches]
    [78.33, 54.33, 80.33, 60.33]
    """
    from matplotlib.figure import Figure

    methods.by_name("`groups`", groups, "one group")
    columns: dict[str, dict[str, np.ndarray]] = {}
    for group, values in groups.items():
        methods.by_name(f"`groups`: {group!r}", values, "one method")
        columns[group] = {
            name: arrays.numbers(f"{group}: {name}", value, 1, "(subjects,)")
            for name, value in values.items()
        }
        arrays.same_length(
            **{str(name): value for name, value in columns[group].items()}
        )
        for name, value in columns[group].items():
            methods.drawable(f"{group}: {name}", value)
    names = list(dict.fromkeys(name for of in columns.values() for name in of))
    figure = Figure(
        (2.0 + 0.5 * (len(names) + 1) * len(columns), 4), layout="constrained"
    )
    panel = figure.add_subplot()
    width = 0.8 / len(names)
    for index, name in enumerate(names):
        style = methods.style(index)
        drawn = [
            (place + (index - (len(names) - 1) / 2) * width, of)
            for place, of in enumerate(columns.values())
            if name in of
        ]
        panel.bar(
            [place for place, _ in drawn],
            [np.mean(of[name], dtype=np.float64) for _, of in drawn],
            width=0.92 * width,
            label=name,
            color=style["color"],
            edgecolor="black",
            linewidth=0.6,
        )
        errors = [(p, of[name].mean(), _half_width(of)) for p, of in drawn]
        shown = [error for error in errors if error[2] is not None]
        if shown:
            places, means, halves = zip(*shown, strict=True)
            panel.errorbar(
                places, means, halves, fmt="none", ecolor="black", capsize=3
            )
    panel.set_xticks(range(len(columns)), [str(group) for group in columns])
    panel.set_ylabel(measure)
    panel.set_title(title)
    panel.axhline(0, color="black", linewidth=0.6)
    panel.grid(axis="y", alpha=0.3)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(
        loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9
    )
    subjects = [len(next(iter(of.values()))) for of in columns.values()]
    few, many = min(subjects), max(subjects)
    count = f"{many}" if few == many else f"{few} to {many}"
    note = f"mean of {count}"
    if any(_half_width(of) is not None for of in columns.values()):
        note += " ± 95 % within-subject interval"
    figure.supxlabel(note, fontsize=9)
    return methods.finished(figure)


def _half_width(of_group: Mapping[str, np.ndarray]) -> float | None:
    values = np.stack([*of_group.values()], axis=1)
    return within_subject_interval(values) if min(values.shape) > 1 else None
