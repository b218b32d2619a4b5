"""Draws histograms of a learned distance's violations of metric axioms."""

from collections.abc import Mapping

import numpy as np

from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.viz import methods

_MOST_BINS = 1000
_PANELS = {
    "self_distance": ("distance of a point from itself", "points"),
    "asymmetry": ("difference of both orders of a pair", "pairs"),
    "triangle_excess": ("excess over the triangle inequality", "triplets"),
}


def distance_properties_figure(
    properties: Mapping[str, np.ndarray],
    *,
    num_bins: int = 30,
    title: str = "",
):
    """Draws how often, and how far, a distance violates the metric axioms.

    Use it before you use a learned distance in an index or a clustering that
    needs a metric: the closer all values are to 0, the better. The figure has
    three histograms of densities over [0, 1]. The axis is logarithmic, because
    most values are near 0 and the rare larger values matter. A dashed line is
    the mean.

    Args:
        properties: The result of `metrics.distance_properties`, for distances
            in [0, 1].
        num_bins: Number of bins per histogram.
        title: Title above all panels.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it.

    Raises:
        ValueError: If one of the three is missing, empty, or outside [0, 1],
            or if `num_bins` is not from 1 to 1,000.

    Reference:
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Figure 3.

    Example:

    >>> properties = embeddings_tf.metrics.distance_properties(
    ...     np.random.rand(20, 20)
    ... )
    >>> figure = embeddings_tf.viz.distance_properties_figure(properties)
    >>> len(figure.axes)
    3
    """
    from matplotlib.figure import Figure

    if not isinstance(properties, Mapping):
        raise ValueError(
            "`properties` must be a dictionary, the result of "
            f"metrics.distance_properties; received {properties!r}."
        )
    if positive_integer("num_bins", num_bins) > _MOST_BINS:
        raise ValueError(
            f"`num_bins` must be at most {_MOST_BINS:,}; received {num_bins}."
        )
    missing = [name for name in _PANELS if name not in properties]
    if missing:
        raise ValueError(
            f"`properties` must have {', '.join(_PANELS)}; received "
            f"{', '.join(properties) or 'none'}. Pass the result of "
            "metrics.distance_properties."
        )
    figure = Figure(figsize=(12, 3.8), layout="constrained")
    panels = figure.subplots(1, 3)
    for index, (name, (label, unit)) in enumerate(_PANELS.items()):
        values = methods.fractions(name, properties[name])
        panel = panels[index]
        panel.hist(
            values,
            bins=num_bins,
            range=(0, 1),
            density=True,
            color=methods.style(index)["color"],
            edgecolor="white",
            linewidth=0.5,
        )
        mean = np.mean(values, dtype=np.float64)
        panel.axvline(mean, color="black", linestyle="--", linewidth=1.2)
        panel.set_title(
            f"{len(values):,} {unit}\nmean {mean:.2g}, largest "
            f"{values.max():.2g}",
            fontsize=10,
        )
        panel.set(xlabel=label, xlim=(0, 1), yscale="log")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("density")
    return methods.finished(figure, title)
