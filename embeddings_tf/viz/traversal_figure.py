"""Draws real images along single dimensions of an embedding."""

import collections
import itertools
import math
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops import arguments
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.pixels import require_pixels
from embeddings_tf.viz import methods
from embeddings_tf.viz.mutual_information_figure import checked_information
from embeddings_tf.viz.mutual_information_figure import entropies
from embeddings_tf.viz.traversal_indices import reference_point
from embeddings_tf.viz.traversal_indices import squared_distances
from embeddings_tf.viz.traversal_indices import traversal_indices

# Gap between images, as a fraction of their width.
_GAP = 0.06
# Sizes in inches: an image, and the values below it.
_IMAGE_WIDTH = 0.95
_STRIP = 0.2
# Font size in points, 72 per inch.
_LETTERS = 9


def traversal_figure(
    images: Sequence,
    codes: Any,
    information: Any,
    factor_names: Sequence[str],
    *,
    num_dims: int = 8,
    num_steps: int = 7,
    factors: Any = None,
    reference: Any = None,
    decode: Callable[[np.ndarray], Any] | None = None,
    title: str = "",
):
    """Shows real images along single dimensions of an embedding.

    Use it to see what a dimension means; it needs no decoder. Rows are
    dimensions. First comes the most informative dimension of each factor, if
    it has more information about this factor than about any other factor;
    then the second dimension of each factor, and so on.

    The images of a row are at evenly spaced quantiles of the dimension.
    `traversal_indices` chooses them so that all other dimensions stay near a
    reference, as far as the data allow; `traversal_reference` finds a suitable
    reference. The label of a row names the factor with the most information,
    and the root mean square distance of all other dimensions from the
    reference, in standard deviations. At a distance of about 1, a row shows
    random images in the order of the dimension.

    With `factors`, the value of the row's factor is shown below each image.
    The label then also contains the entropy of the factor, the upper limit of
    the information.

    With `decode`, a second row shows decoded codes: the reference with only the
    row's dimension set to its values in the images above.

    Args:
        images: `n` images, `(height, width)` or with 1 or 3 channels, pixels
            0 to 255. Only the shown images are read, one by one, so this may
            be a data set on disk.
        codes: `(n, dims)`, the embedding of the images.
        information: `(dims, num_factors)` in nats, as from
            `metrics.mutual_information`.
        factor_names: One name for each factor.
        num_dims: Rows; fewer if the embedding has fewer dimensions.
        num_steps: Images in a row.
        factors: Integers `(n, num_factors)`, of each image; None: no values
            below the images.
        reference: `(dims,)`; None: the median of each dimension.
        decode: From codes `(num_steps, dims)` to as many images, pixels 0 to
            255 and of the images' shape; with a `BetaVAE`, 255 times the
            sigmoid of its decoder.
        title: Above the figure.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it.

    Raises:
        ValueError: If there is not one code per image and one row of
            `information` per dimension, if `factors` do not fit, if arrays are
            not finite, if there are fewer images than steps, or if images
            differ in shape or have pixels outside 0 to 255. Floats in [0, 1]
            that are not whole numbers are warned about.

    Example:

    >>> codes = np.random.rand(50, 2)
    >>> images = np.full((50, 8, 8), 255) * codes[:, :1, None]
    >>> information = [[1.2, 0.0], [0.0, 0.7]]
    >>> figure = embeddings_tf.viz.traversal_figure(
    ...     images, codes, information, ["brightness", "nothing"]
    ... )
    >>> figure.axes[0].get_yticklabels()[0].get_text().split("\\n")[:2]
    ['dimension 1', 'brightness: 1.20 nats']
    """
    from matplotlib.figure import Figure

    codes = arrays.numbers("codes", codes, 2, "(n, dims)")
    information = checked_information(information, factor_names)
    if arguments.num_rows("images", images) != len(codes):
        raise ValueError(
            "`images` and `codes` must have the same length; received "
            f"{len(images)} and {len(codes)}."
        )
    if len(information) != codes.shape[1]:
        raise ValueError(
            f"`information` must have one row per dimension of the codes, "
            f"{codes.shape[1]}; received {len(information)}."
        )
    entropy = None
    if factors is not None:
        entropy = entropies(factors, information.shape[1])
        factors = np.asarray(factors)
        arrays.same_length(codes=codes, factors=factors)
    num_dims = positive_integer("num_dims", num_dims)
    if decode is not None:
        arguments.function("decode", decode, "codes")
    dims = _factors_in_turn(information)[:num_dims]
    chosen = traversal_indices(codes, dims, num_steps, reference=reference)
    distances = squared_distances(codes, reference)
    rows, labels, captions = [], [], []
    for dim, indices in zip(dims, chosen, strict=True):
        rows.append(_as_colours([images[int(i)] for i in indices]))
        others = np.delete(distances[indices], dim, axis=1)
        off = np.sqrt(others.mean()) if others.size else 0.0
        factor = information[dim].argmax()
        told = f"{information[dim, factor]:.2f}"
        if entropy is not None:
            told += f" of {entropy[factor]:.2f}"
        labels.append(
            f"dimension {dim + 1}\n{factor_names[factor]}: {told} nats\n"
            f"others off by {off:.2f}"
        )
        captions.append(
            None if factors is None else factors[indices, factor].tolist()
        )
        if decode is not None:
            points = np.tile(reference_point(codes, reference), (num_steps, 1))
            points[:, dim] = codes[indices, dim]
            decoded = np.asarray(decode(points.astype(codes.dtype)))
            if decoded.shape[:1] != (num_steps,):
                raise ValueError(
                    f"`decode` must return an image for each of {num_steps} "
                    f"codes; received shape {decoded.shape}."
                )
            rows.append(_as_colours(decoded))
            labels.append("decoded")
            captions.append(None)
    if len({row.shape for row in rows}) > 1:
        raise ValueError(
            "All images must have the same height and width; received "
            f"{sorted({row.shape[1:3] for row in rows})}."
        )
    figure = Figure()
    _draw_sheet(
        figure, rows, labels, captions, top_margin=0.5 if title else 0.15
    )
    note = (
        "others off by: root mean square distance of the other dimensions\n"
        "from the reference, in standard deviations"
    )
    if factors is not None:
        note += "; below an image: value of the factor"
    figure.supxlabel(note, fontsize=8)
    return methods.finished(figure, title)


def _factors_in_turn(information: np.ndarray) -> list[int]:
    """Each factor's most informative dimension, then each second, ..."""
    by_factor = collections.defaultdict(list)
    for dim in np.argsort(-information.max(axis=1), kind="stable"):
        by_factor[information[dim].argmax()].append(int(dim))
    turns = itertools.zip_longest(*by_factor.values())
    return [dim for turn in turns for dim in turn if dim is not None]


def _draw_sheet(figure, rows, labels, captions, top_margin: float) -> None:
    """Draws all images as one, at a fixed size, with labels beside the rows.

    Captions of a row, one per image, are in a white strip below.
    """
    from matplotlib.textpath import TextPath

    num_steps, height, width = rows[0].shape[:3]
    gap = max(1, round(_GAP * width))
    scale = _IMAGE_WIDTH / width
    strips = [
        0 if row is None else math.ceil(_STRIP / scale) for row in captions
    ]
    bottoms = np.cumsum([height + strip + gap for strip in strips])
    tops = np.append(0, bottoms[:-1])
    # Grey between the images, whose borders may be white.
    sheet = np.full(
        (bottoms[-1] - gap, num_steps * (width + gap) - gap, 3), 0.8
    )
    for top, strip, images in zip(tops, strips, rows, strict=True):
        sheet[top + height : top + height + strip] = 1.0
        for step, image in enumerate(images):
            left = step * (width + gap)
            sheet[top : top + height, left : left + width] = image
    sheet_height, sheet_width = (scale * side for side in sheet.shape[:2])
    lines = [line for label in labels for line in label.split("\n")]
    widths = (  # of the lines as written: a $ starts no formula
        TextPath((0, 0), line.replace("$", r"\$"), size=_LETTERS)
        .get_extents()
        .x1
        for line in lines
    )
    left = 0.2 + max(widths) / 72
    size = left + sheet_width + 0.3, 1.0 + sheet_height + top_margin
    figure.set_size_inches(size)
    panel = figure.add_axes(
        (
            left / size[0],
            1.0 / size[1],
            sheet_width / size[0],
            sheet_height / size[1],
        )
    )
    panel.imshow(sheet, interpolation="nearest")
    # Pixel i reaches from i - 0.5 to i + 0.5.
    panel.set_yticks(tops + (height - 1) / 2, labels, fontsize=_LETTERS)
    middles = np.arange(num_steps) * (width + gap) + (width - 1) / 2
    for top, strip, texts in zip(tops, strips, captions, strict=True):
        if texts is None:
            continue
        for middle, text in zip(middles, texts, strict=True):
            panel.text(
                middle,
                top + height + (strip - 1) / 2,
                str(text),
                ha="center",
                va="center",
                fontsize=_LETTERS,
            )
    panel.set_xticks(
        middles,
        [f"{100 * (i + 0.5) / num_steps:.0f} %" for i in range(num_steps)],
    )
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
    panel.set_xlabel("quantile of the dimension")


def _as_colours(images) -> np.ndarray:
    """Images as `(n, height, width, 3)` in [0, 1]."""
    shapes = {np.shape(image) for image in images}
    if len(shapes) > 1:
        raise ValueError(
            f"All images must have the same shape; received {sorted(shapes)}."
        )
    images = np.asarray(images)
    if images.ndim == 3:
        images = images[..., None]
    if images.ndim != 4 or images.shape[-1] not in (1, 3):
        raise ValueError(
            "Images must have shape (height, width) or (height, width, "
            f"channels) with 1 or 3 channels; received {images.shape[1:]}."
        )
    require_pixels(images)
    images = (images / 255).astype("float32")
    return np.broadcast_to(images, (*images.shape[:3], 3))
