"""Figures of colour and orientation, from the numbers of an evaluation."""

import numpy as np

GREYS = {"colour": "#b0b0b0", "orientation": "black"}
TITLES = {
    "hue_noise": "standard deviation of the hue's noise, degrees",
    "leg": "length of the legs, of 30 pixels",
}


def grid_figure(grid: dict, axis: dict[str, int]):
    """Draws shapes on a grid of hues and orientations, and their embeddings.

    Figure 2 of Scott, Ridgeway & Mozer 2019. Lines join neighbours of the grid;
    ellipses are one standard deviation.

    Args:
        grid: `grid` of an evaluation of `colour_orientation`.
        axis: The dimension of each factor, `axis` of a split.
    """
    from matplotlib.collections import EllipseCollection
    from matplotlib.figure import Figure

    from embeddings_tf.datasets.l_shapes import draw_l_shapes

    degrees, mean = np.array(grid["degrees"]), np.array(grid["mean"])
    stddev = np.sqrt(grid["variance"])
    orientation, hue = np.meshgrid(degrees, degrees, indexing="ij")
    figure = Figure((11, 5), layout="constrained")
    left, right = figure.subplots(1, 2)
    shapes = draw_l_shapes(orientation.ravel(), hue.ravel())
    size = len(degrees)
    mosaic = shapes.reshape(size, size, *shapes.shape[1:])
    mosaic = mosaic.transpose(0, 2, 1, 3, 4).reshape(
        size * shapes.shape[1], -1, 3
    )
    # From 45 degrees to 135 in both directions, the first row below.
    step = (degrees[-1] - degrees[0]) / (size - 1) / 2
    ends = degrees[0] - step, degrees[-1] + step
    rows = mosaic.reshape(size, shapes.shape[1], *mosaic.shape[1:])[::-1]
    left.imshow(rows.reshape(mosaic.shape), extent=[*ends, *ends])
    left.set_xticks(degrees)
    left.set_yticks(degrees)
    left.set_xlabel("hue, degrees")
    left.set_ylabel("orientation, degrees")
    left.set_title("shapes; the centres of the classes in the corners")
    for lines in (mean, mean.transpose(1, 0, 2)):
        for line in lines:
            right.plot(*line.T, color="#999999", linewidth=0.8, zorder=1)
    colours = shapes.reshape(size * size, -1, 3).max(axis=1) / 255
    flat, spread = mean.reshape(-1, 2), stddev.reshape(-1, 2)
    right.scatter(*flat.T, c=colours, s=30, edgecolors="black", zorder=3)
    right.add_collection(
        EllipseCollection(
            2 * spread[:, 0],
            2 * spread[:, 1],
            np.zeros(len(flat)),
            units="xy",
            offsets=flat,
            offset_transform=right.transData,
            facecolors="none",
            edgecolors=colours * 0.8,
            linewidths=0.8,
        )
    )
    low, high = (flat - spread).min(axis=0), (flat + spread).max(axis=0)
    margin = 0.04 * (high - low)
    right.set_xlim(low[0] - margin[0], high[0] + margin[0])
    right.set_ylim(low[1] - margin[1], high[1] + margin[1])
    factors = [
        ", ".join(name for name in axis if axis[name] == dimension)
        for dimension in range(2)
    ]
    right.set_xlabel(f"dimension 1: {factors[0] or 'neither factor'}")
    right.set_ylabel(f"dimension 2: {factors[1] or 'neither factor'}")
    right.set_title("their embeddings, one standard deviation around")
    return figure


def variance_figure(variance: dict):
    """Draws the variance of each axis against noise and leg length.

    Figure 3 of Scott, Ridgeway & Mozer 2019.

    Args:
        variance: `variance` of a split in an evaluation of
            `colour_orientation`.
    """
    from matplotlib.figure import Figure
    from matplotlib.offsetbox import AnnotationBbox
    from matplotlib.offsetbox import OffsetImage

    figure = Figure((11, 4.6), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for panel, (name, found) in zip(panels, variance.items(), strict=True):
        levels = found["levels"]
        for (factor, colour), marker in zip(GREYS.items(), "os", strict=True):
            panel.plot(
                range(len(levels)),
                found[factor],
                color=colour,
                marker=marker,
                label=f"axis of {factor}",
            )
        for place, level in enumerate(levels):
            picture = AnnotationBbox(
                OffsetImage(_example(name, level), zoom=0.55),
                (place, 0),
                xycoords=("data", "axes fraction"),
                xybox=(0, -42),
                boxcoords="offset points",
                frameon=False,
                annotation_clip=False,
            )
            panel.add_artist(picture)
        panel.set_xticks(range(len(levels)), [f"{level:g}" for level in levels])
        # Room for the pictures between the numbers and the label.
        panel.set_xlabel(TITLES[name], labelpad=54)
        panel.set_xlim(-0.5, len(levels) - 0.5)
        panel.set_yscale("log")
        panel.grid(axis="y", alpha=0.3)
        panel.spines[["top", "right"]].set_visible(False)
        panel.legend(frameon=False, loc="upper left")
    panels[0].set_ylabel("mean variance (logarithmic)")
    return figure


def _example(name: str, level: float) -> np.ndarray:
    """A shape of the first class with a level of noise or of leg length."""
    from embeddings_tf.datasets.colour_orientation import CENTRES
    from embeddings_tf.datasets.l_shapes import SIZE
    from embeddings_tf.datasets.l_shapes import draw_l_shapes

    centre = np.array([CENTRES[0]])
    if name == "leg":
        return draw_l_shapes(centre, centre, level)[0]
    noise = np.random.default_rng(0).normal(0, level, (1, SIZE, SIZE))
    return draw_l_shapes(centre, centre[0] + noise)[0]
