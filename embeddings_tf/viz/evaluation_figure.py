"""How far a model's uncertainty can be trusted."""

import numpy as np

_FEW = 100


def evaluation_figure(reliability: dict, reject: dict, occlusion: dict):
    """Draws how far a model's uncertainty can be trusted, in three panels.

    Use it on what `trainers.evaluate` writes. Left: accuracy against
    confidence (a calibrated model follows the diagonal; bins of fewer than
    100 queries are left out). Middle: the error
    rate of the queries kept when the least certain are rejected. Right: the
    predicted standard deviation against the occluded part of the image.

    Args:
        reliability: From condition names to the result of
            `metrics.reliability_curve`.
        reject: From condition names to the result of
            `metrics.error_versus_reject`.
        occlusion: `"occluded"` (bin centres, fraction of the pixels) and
            `"stddev"` (means), or empty for a point embedding.

    Returns:
        A `matplotlib.figure.Figure`.

    Example:

    >>> curve = embeddings_tf.metrics.error_versus_reject([0.1, 0.9], [0, 1])
    >>> figure = embeddings_tf.viz.evaluation_figure({}, {"clean": curve}, {})
    """
    from matplotlib.figure import Figure

    panels = 2 + bool(occlusion)
    figure = Figure(figsize=(5 * panels, 4.5), layout="constrained")
    axes = figure.subplots(1, panels)
    axes[0].plot([0, 1], [0, 1], color="grey", linewidth=0.8)
    for name, curve in reliability.items():
        filled = np.asarray(curve["count"]) >= _FEW
        axes[0].plot(
            np.asarray(curve["confidence"])[filled],
            np.asarray(curve["accuracy"])[filled],
            marker="o",
            markersize=3,
            label=name,
        )
    axes[0].set(xlabel="confidence", ylabel="accuracy", title="reliability")
    for name, curve in reject.items():
        axes[1].plot(curve["reject"], curve["error"], label=name)
    axes[1].set(
        xlabel="fraction rejected, least certain first",
        ylabel="error rate of the rest",
        title="error versus reject",
    )
    axes[1].set_ylim(bottom=0)
    for panel in axes[:2]:
        if panel.get_legend_handles_labels()[0]:
            panel.legend(fontsize=8)
    if occlusion:
        axes[2].plot(occlusion["occluded"], occlusion["stddev"], marker="o")
        axes[2].set(
            xlabel="occluded part of the image",
            ylabel="predicted standard deviation",
            title="uncertainty against occlusion",
        )
        axes[2].set_ylim(bottom=0)
    return figure
