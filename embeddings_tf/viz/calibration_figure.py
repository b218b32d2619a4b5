"""Draws whether log-likelihood ratios are reliable."""

from collections.abc import Mapping

import numpy as np

from embeddings_tf.viz import methods

# Bins with fewer trials of a kind are too uncertain to be drawn.
_FEW = 5


def calibration_figure(
    panels: Mapping[str, Mapping[str, Mapping[str, np.ndarray]]],
    *,
    title: str = "",
):
    """Draws observed over stated log-likelihood ratios, a reliability diagram.

    Use it to see whether `exp(score)` may be used as a likelihood ratio.
    Calibrated scores follow the dotted diagonal. A line that is flatter than
    the diagonal is too sure, and a line above the diagonal states too low
    ratios. Bins with fewer than 5 trials of a kind are left out. The horizontal
    axis is at most 3 times as wide as the vertical axis.

    Args:
        panels: One panel per entry, for instance `"as trained"` and
            `"calibrated"`: from names of scores to results of
            `metrics.likelihood_ratio_curve`. A score that is in several
            panels has the same colour in each.
        title: Title of the figure.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it.

    Raises:
        ValueError: If there is no panel, a panel is not a dictionary, or
            entries of a curve are missing, not finite or of different lengths.

    Example:

    >>> curve = embeddings_tf.metrics.likelihood_ratio_curve(
    ...     [2.0, 1.0, 0.5, -1.0] * 20, [1, 0, 1, 0] * 20, num_bins=2
    ... )
    >>> figure = embeddings_tf.viz.calibration_figure(
    ...     {"as trained": {"plda": curve}}
    ... )
    >>> len(figure.axes[0].lines)
    2
    """
    from matplotlib.figure import Figure

    methods.by_name("`panels`", panels, "one panel")
    drawn = {name: _lines(name, curves) for name, curves in panels.items()}
    order = [*dict.fromkeys(n for lines in drawn.values() for n in lines)]
    every = [line for lines in drawn.values() for line in lines.values()]
    height = 1.1 * max((np.abs(y).max() for _, y in every), default=1.0)
    height = max(height, 1.0)
    figure = Figure(figsize=(5 * len(drawn), 4.8), layout="constrained")
    axes = figure.subplots(1, len(drawn), squeeze=False)[0]
    for panel, (name, lines) in zip(axes, drawn.items(), strict=True):
        widest = [1.1 * np.abs(x).max() for x, _ in lines.values()]
        # Ratios that are far too large would hide all other lines.
        width = min(max([height, *widest]), 3 * height)
        panel.plot([-width, width], [-width, width], color="black", ls=":")
        for label, (x, y) in lines.items():
            style = methods.style(order.index(label)) | {"markersize": 4}
            panel.plot(x, y, label=str(label).replace("_", " "), **style)
        panel.set(
            xlim=(-width, width),
            ylim=(-height, height),
            xlabel="stated log-likelihood ratio",
            ylabel="observed log-likelihood ratio",
            title=name,
        )
        panel.grid(alpha=0.3)
        if lines:
            panel.legend(fontsize=8)
    return methods.finished(figure, title)


def _lines(panel: str, curves) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Returns stated and observed ratios of the bins that are drawn."""
    if not isinstance(curves, Mapping):
        raise ValueError(
            f"Panel {panel!r} must be a dictionary from names of scores to "
            f"curves; received {curves!r}."
        )
    found = {}
    for name, curve in curves.items():
        methods.by_name(f"The curve of {name!r}", curve, "one entry")
        if not len(curve.get("stated", "?")):
            continue  # the scores separate both kinds of trials
        stated, observed, targets, nontargets = methods.columns(
            f"The curve of {name!r}",
            curve,
            ("stated", "observed", "targets", "nontargets"),
        )
        for values in (stated, observed):
            methods.drawable(f"the curve of {name!r}", values)
        enough = np.minimum(targets, nontargets) >= _FEW
        if enough.any():
            found[name] = stated[enough], observed[enough]
    return found
