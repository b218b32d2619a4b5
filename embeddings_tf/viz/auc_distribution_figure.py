"""Draws the distribution of single-dimension AUCs over factor values."""

from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from embeddings_tf.viz import methods

_NUM_BINS = 20


def auc_distribution_figure(
    aucs: Mapping[str, Sequence[Sequence[float]]], *, title: str = ""
):
    """Draws the distribution of single-dimension AUCs, method by method.

    Use it in addition to the mean, to see whether a few factor values have no
    dimension that separates them. Left: the AUCs of each method in ascending
    order, pooled over its runs (folds); a curve that reaches the top sooner is
    better. Right: the same AUCs as histograms of 20 bins, with a line at each
    median.

    Args:
        aucs: From names of methods to runs, each the `"auc"` of
            `metrics.single_dimension_auc_by_value`, fractions in `[0, 1]`.
            Runs may differ in length.
        title: Title of the figure.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it.

    Raises:
        ValueError: If methods or runs are missing, or if a value is not finite
            or outside `[0, 1]`.

    Reference:
        - Ridgeway & Mozer, *Discovering Disentangled Representations with the
          F Statistic Loss*, workshop paper, Figure 3.

    Example:

    >>> figure = embeddings_tf.viz.auc_distribution_figure(
    ...     {"triplet": [[0.9, 0.6], [0.8, 0.7]]}
    ... )
    >>> figure.axes[0].lines[0].get_ydata()
    array([0.6, 0.7, 0.8, 0.9])
    """
    from matplotlib.figure import Figure

    methods.by_name("`aucs`", aucs, "one method")
    pooled = {}
    for name, runs in aucs.items():
        methods.not_empty(f"`{name}`", runs, "one run")
        pooled[name] = np.sort(
            np.concatenate([methods.fractions(name, run) for run in runs])
        )
    low = min(0.5, *(values[0] for values in pooled.values()))
    edges = np.linspace(low, 1, _NUM_BINS + 1)
    # Rows of the legend below the panels; a letter is about 0.1 inches wide.
    columns = 3 if max(len(str(name)) for name in pooled) <= 24 else 2
    rows = -(-len(pooled) // columns)
    height = max(4.2, 1.2 + 1.05 * len(pooled)) + 0.25 * rows
    figure = Figure(figsize=(10, height), layout="constrained")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.1, 1))[
        0
    ]
    curves = left.subplots()
    panels = right.subplots(
        len(pooled), sharex=True, sharey=True, squeeze=False
    )[:, 0]
    for index, (name, values) in enumerate(pooled.items()):
        style = methods.style(index)
        rank = (np.arange(len(values)) + 0.5) / len(values)
        curves.plot(
            rank,
            values,
            label=name,
            markevery=max(1, len(values) // 10),
            markersize=5,
            **style,
        )
        panel = panels[index]
        panel.hist(
            values,
            edges,
            weights=np.full(len(values), 1 / len(values)),
            color=style["color"],
            alpha=0.7,
            edgecolor="black",
            linewidth=0.4,
        )
        panel.axvline(np.median(values), color="black", linewidth=1.6)
        panel.set_title(
            f"{name}: median {np.median(values):.3f}",
            loc="left",
            fontsize=10,
            pad=3,
        )
    curves.set(
        xlabel="share of the factor values, worst told first",
        ylabel="area under the ROC curve\nof the best dimension",
        xlim=(0, 1),
        ylim=(low - 0.01, 1.01),
    )
    curves.grid(alpha=0.3)
    # Below the panels, because curves may be anywhere inside.
    handles, names = curves.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=columns)
    panels[-1].set(
        xlabel="area under the ROC curve of the best dimension", xlim=(low, 1)
    )
    # One label for all panels, because a panel may be too low for it.
    right.supylabel("share of the factor values", fontsize=10)
    return methods.finished(figure, title)
