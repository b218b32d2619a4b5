"""Draws the regions that a score of pairs accepts in a plane."""

from collections.abc import Callable

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.metrics import score_all_pairs
from embeddings_tf.ops.arguments import finite_number
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.viz import methods

# Grid points in each direction, at which each class's score is computed.
_LARGEST_GRID = 2000
# Ten distinct hues on a light ground, repeated for further classes.
_COLOURS = (
    "#3366cc #e8743b #19a979 #d62f4b #945ecf "
    "#a0703c #e377a8 #5f6b7a #b0a010 #13a4b4"
).split()


def acceptance_figure(
    embeddings,
    labels,
    score: Callable,
    *,
    threshold: float = 0.0,
    title: str = "",
    grid_size: int = 160,
):
    """Draws a plane of embeddings and the regions that a score accepts.

    Use it to see the shapes of classes, and whether a learned distance follows
    them. Points are embeddings, and a number marks the centre of each class.
    The plane is shaded where the score of the centre with a point is above the
    threshold, and darker for higher scores. A Euclidean distance would accept
    discs of one size.

    The centre of a class is the example with the smallest sum of distances to
    the other examples of its class. It is the enrolled side of the score.

    Args:
        embeddings: `(n, 2)`.
        labels: Integers `(n,)`.
        score: As in `metrics.score_all_pairs`, of embeddings of two
            dimensions, such as `layers.PairDistance.all_pairs`.
        threshold: Smallest accepted score; 0 for a log-likelihood ratio at
            equal priors and costs.
        title: Title of the figure.
        grid_size: Number of grid points in each direction at which the score
            is computed, from 2 to 2,000.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it.

    Raises:
        ValueError: If arrays are empty, not finite, of the wrong shape or of
            different lengths, or the score returns NaN or another shape.

    Reference:
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Figure 2,
          draws the points.

    Example:

    >>> labels = np.repeat([3, 8], 30)
    >>> embeddings = np.random.randn(60, 2) + 5 * (labels == 8)[:, None]
    >>> figure = embeddings_tf.viz.acceptance_figure(
    ...     embeddings, labels, embeddings_tf.metrics.cosine_scores
    ... )
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['3', '8']
    """
    from matplotlib.colors import to_rgba
    from matplotlib.figure import Figure

    embeddings = arrays.numbers("embeddings", embeddings, 2, "(n, 2)")
    labels = arrays.integers("labels", labels, 1, "(n,)")
    arrays.same_length(embeddings=embeddings, labels=labels)
    methods.drawable("embeddings", embeddings)
    if embeddings.shape[1] != 2:
        raise ValueError(
            "`embeddings` must have two dimensions for a plane; received shape "
            f"{embeddings.shape}. Train an encoder with dim=2."
        )
    if not 2 <= positive_integer("grid_size", grid_size) <= _LARGEST_GRID:
        raise ValueError(
            f"`grid_size` must be at least 2 and at most {_LARGEST_GRID:,}; "
            f"received {grid_size}."
        )
    threshold = finite_number("threshold", threshold)
    classes = np.unique(labels)
    centres = np.stack([_centre(embeddings[labels == c]) for c in classes])
    low, high = _limits(embeddings)
    x, y = (
        np.linspace(low[axis], high[axis], grid_size, dtype=embeddings.dtype)
        for axis in (0, 1)
    )
    plane = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    scores = score_all_pairs(score, centres, plane, block_size=8192)

    figure = Figure(figsize=(7.2, 6.6), layout="constrained")
    panel = figure.subplots()
    for index, (name, accepted) in enumerate(zip(classes, scores, strict=True)):
        colour = _COLOURS[index % len(_COLOURS)]
        accepted = _finite(accepted, threshold).reshape(grid_size, grid_size)
        largest = accepted.max()
        if largest > threshold:
            # Fewer levels if close numbers leave no room for five.
            levels = np.unique(np.linspace(threshold, largest, 5))
            panel.contourf(
                x,
                y,
                accepted,
                levels,
                colors=[to_rgba(colour, 0.07 + 0.06 * i) for i in range(4)],
                zorder=1,
            )
            panel.contour(
                x,
                y,
                accepted,
                [threshold],
                colors=colour,
                linewidths=1.3,
                zorder=2,
            )
        panel.scatter(
            embeddings[labels == name, 0],
            embeddings[labels == name, 1],
            s=7,
            color=colour,
            alpha=0.55,
            linewidths=0,
            zorder=3,
        )
        panel.text(
            centres[index, 0],
            centres[index, 1],
            str(name),
            color="white",
            fontsize=12,
            weight="bold",
            ha="center",
            va="center",
            zorder=4,
            bbox={
                "boxstyle": "circle,pad=0.25",
                "facecolor": colour,
                "edgecolor": "white",
                "linewidth": 1.2,
            },
        )
    panel.set(
        xlim=(low[0], high[0]),
        ylim=(low[1], high[1]),
        xlabel="dimension 1",
        ylabel="dimension 2",
    )
    panel.spines[["top", "right"]].set_visible(False)
    figure.supxlabel(
        "shaded: regions that the score accepts as the class of the number",
        fontsize=9,
    )
    return methods.finished(figure, title)


def _finite(scores: np.ndarray, threshold: float) -> np.ndarray:
    """Returns float64; infinite scores become slightly larger finite ones."""
    scores = scores.astype(np.float64)
    finite = np.append(scores[np.isfinite(scores)], threshold)
    return np.clip(scores, finite.min() - 1, finite.max() + 1)


def _centre(points: np.ndarray) -> np.ndarray:
    """Returns the point with the smallest sum of distances to all points."""
    # At most about 1,000 points, because the cost is quadratic.
    few = points[:: -(-len(points) // 1000)]
    scaled, _ = arrays.scaled(few)
    apart = np.linalg.norm(scaled[:, None] - scaled, axis=-1)
    return few[np.argmin(apart.sum(axis=1))]


def _limits(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners of the axes; a few outliers may be outside."""
    low, high = np.percentile(points, [0.3, 99.7], axis=0)
    margin = 0.08 * (high - low)
    margin = np.where(margin > 0, margin, 1.0)
    return low - margin, high + margin
