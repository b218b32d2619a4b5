"""Draws images at their places in the plane of an embedding."""

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import integer_at_least
from embeddings_tf.ops.pixels import require_pixels
from embeddings_tf.viz import methods

_LARGEST = 2000


def picture_plane_figure(
    mean,
    images,
    *,
    size: int = 28,
    title: str = "",
):
    """Draws every image at its embedding in the plane.

    Use it to see what the axes of a two-dimensional embedding mean. Where
    images overlap, the later image is on top. Black pixels of grey images are
    transparent: pass white ink on black.

    Args:
        mean: Embeddings `(n, dim)`, n at most 2000; the first two dimensions
            are drawn.
        images: `(n, height, width)` or `(n, height, width, channels)` with 1 or
            3 channels, pixels 0 to 255.
        size: Height of an image in the figure, in points (1/72 inch).
        title: Title of the figure.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it.

    Raises:
        ValueError: If there are no images or too many, counts differ, the
            embedding has one dimension, or pixels are not as described.

    Reference:
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702),
          Figure 5

    Example:

    >>> images = np.random.randint(0, 256, (20, 28, 28))
    >>> mean = np.random.randn(20, 2)
    >>> figure = embeddings_tf.viz.picture_plane_figure(mean, images)
    >>> len(figure.axes[0].artists)
    20
    """
    from matplotlib.figure import Figure
    from matplotlib.offsetbox import AnnotationBbox
    from matplotlib.offsetbox import OffsetImage

    mean = arrays.numbers("mean", mean, 2, "(n, dim)")
    if mean.shape[1] < 2:
        raise ValueError(
            "A plane needs embeddings of at least two dimensions; received "
            f"shape {mean.shape}."
        )
    methods.drawable("mean", mean)
    pictures = _pictures(images)
    if not len(mean) == len(pictures) <= _LARGEST:
        raise ValueError(
            f"`images` must be at most {_LARGEST} and as many as embeddings, "
            f"{len(mean)}; received {len(pictures)}."
        )
    size = integer_at_least("size", size, 4)
    figure = Figure((9, 9), layout="constrained")
    panel = figure.add_subplot()
    for place, picture in zip(mean[:, :2], pictures, strict=True):
        drawn = OffsetImage(picture, zoom=size / picture.shape[0])
        panel.add_artist(
            AnnotationBbox(
                drawn, place, frameon=False, pad=0, annotation_clip=True
            )
        )
    low, high = mean[:, :2].min(axis=0), mean[:, :2].max(axis=0)
    margin = 0.05 * (high - low) + 1e-6
    panel.set_xlim(low[0] - margin[0], high[0] + margin[0])
    panel.set_ylim(low[1] - margin[1], high[1] + margin[1])
    panel.set_xlabel("dimension 1")
    panel.set_ylabel("dimension 2")
    panel.set_title(title, parse_math=False)
    return figure


def _pictures(images) -> np.ndarray:
    """Images as RGBA `(n, height, width, 4)`; grey images become black ink."""
    images = np.asarray(images)
    if images.ndim == 4 and images.shape[-1] == 1:
        images = images[..., 0]
    is_colour = images.ndim == 4 and images.shape[-1] == 3
    if not (images.ndim == 3 or is_colour) or not images.size:
        raise ValueError(
            "`images` must have shape (n, height, width) or (n, height, width, "
            f"1 or 3); received {images.shape}."
        )
    require_pixels(images)
    pixels = np.round(images).astype(np.uint8)
    if is_colour:
        opaque = np.full((*pixels.shape[:3], 1), 255, np.uint8)
        return np.concatenate([pixels, opaque], axis=-1)
    return np.stack([*[np.zeros_like(pixels)] * 3, pixels], axis=-1)
