"""Draws reliability, error versus reject, and uncertainty by occlusion."""

from collections.abc import Mapping

from embeddings_tf.viz import methods

_FEW = 100


def evaluation_figure(
    reliability: dict, reject: dict, occlusion: dict, *, title: str = ""
):
    """Draws whether a model's uncertainty is reliable, in three panels.

    Left: accuracy against confidence. A calibrated model follows the diagonal;
    bins with fewer than 100 queries are left out. Middle: the error rate of the
    remaining queries when the least certain queries are rejected. Right: the
    predicted standard deviation against the occluded share of the image.
    `trainers.evaluate` draws this figure.

    Args:
        reliability: From condition names to the result of
            `metrics.reliability_curve`.
        reject: From condition names to the result of
            `metrics.error_versus_reject`.
        occlusion: `"occluded"` (bin centres, fraction of the pixels) and
            `"stddev"` (means), or empty for a point embedding.
        title: Title above all panels.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ValueError: If an argument is not a dictionary, or if entries of a
            curve are missing, empty, not finite or of different lengths.

    Example:

    >>> curve = embeddings_tf.metrics.error_versus_reject([0.1, 0.9], [0, 1])
    >>> figure = embeddings_tf.viz.evaluation_figure({}, {"clean": curve}, {})
    """
    from matplotlib.figure import Figure

    given = {"reliability": reliability, "reject": reject}
    for name, value in {**given, "occlusion": occlusion}.items():
        if not isinstance(value, Mapping):
            raise ValueError(
                f"`{name}` must be a dictionary, which may be empty; received "
                f"{value!r}."
            )
    panels = 2 + bool(occlusion)
    figure = Figure(figsize=(5 * panels, 4.5), layout="constrained")
    axes = figure.subplots(1, panels)
    axes[0].plot([0, 1], [0, 1], color="grey", linewidth=0.8)
    for name, curve in reliability.items():
        count, confidence, accuracy = methods.columns(
            f"The reliability of {name!r}",
            curve,
            ("count", "confidence", "accuracy"),
        )
        axes[0].plot(
            confidence[count >= _FEW],
            accuracy[count >= _FEW],
            marker="o",
            markersize=3,
            label=name,
        )
    axes[0].set(xlabel="confidence", ylabel="accuracy", title="reliability")
    for name, curve in reject.items():
        x, y = methods.columns(
            f"The rejection of {name!r}", curve, ("reject", "error")
        )
        axes[1].plot(x, y, label=name)
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
        x, y = methods.columns("`occlusion`", occlusion, ("occluded", "stddev"))
        axes[2].plot(x, y, marker="o")
        axes[2].set(
            xlabel="occluded part of the image",
            ylabel="predicted standard deviation",
            title="uncertainty against occlusion",
        )
        axes[2].set_ylim(bottom=0)
    return methods.finished(figure, title)
