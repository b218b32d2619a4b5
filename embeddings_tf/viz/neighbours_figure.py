"""Draws queries beside their nearest neighbours."""

from collections.abc import Sequence

import numpy as np

from embeddings_tf.ops.arguments import num_rows
from embeddings_tf.ops.pixels import require_pixels
from embeddings_tf.viz import methods

_LARGEST = 24
_WRONG, _RIGHT = "#d62728", "#2ca02c"


def neighbours_figure(
    queries: Sequence,
    neighbours: Sequence[Sequence],
    captions: Sequence[Sequence[str]],
    is_right: Sequence[Sequence[bool | None]],
    *,
    query_captions: Sequence[str] | None = None,
    title: str = "",
):
    """Draws queries and their nearest neighbours, wrong neighbours framed.

    Use it to see which examples an embedding confuses. Each row has a query,
    then its neighbours, nearest first. A neighbour of another class has a thick
    red frame, a neighbour of the query's class a thin green frame.

    Args:
        queries: Images `(height, width)` or `(height, width, channels)` with 1
            or 3 channels, pixels 0 to 255; at most 24. Sizes may differ.
        neighbours: For each query the same number of images.
        captions: For each query, a text per neighbour.
        is_right: For each query and neighbour, whether the classes agree;
            None if a class is not known: no frame.
        query_captions: A text per query.
        title: Title of the figure.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it.

    Raises:
        ValueError: If there are no queries or too many, numbers of images and
            captions differ, or an image is not as described.

    Example:

    >>> image = np.zeros((8, 8))
    >>> figure = embeddings_tf.viz.neighbours_figure(
    ...     [image], [[image, image]], [["cat", "dog"]], [[True, False]]
    ... )
    >>> len(figure.axes)
    3
    """
    from matplotlib.figure import Figure

    length = num_rows("queries", queries)
    if not 1 <= length <= _LARGEST:
        raise ValueError(
            f"`queries` must be 1 to {_LARGEST} images; received {length}."
        )
    if query_captions is None:
        query_captions = [""] * length
    for name, value in (
        ("neighbours", neighbours),
        ("captions", captions),
        ("is_right", is_right),
        ("query_captions", query_captions),
    ):
        methods.not_empty(f"`{name}`", value, "one entry")
        if len(value) != length:
            raise ValueError(
                f"`{name}` must have one entry per query; received "
                f"{len(value)} for {length} queries."
            )
    count = num_rows("neighbours[0]", neighbours[0])
    columns = {
        "neighbours": neighbours,
        "captions": captions,
        "is_right": is_right,
    }
    for row in range(length):
        for name, entries in columns.items():
            if num_rows(f"{name}[{row}]", entries[row]) != count or not count:
                raise ValueError(
                    f"`{name}[{row}]` must have as many entries as "
                    f"neighbours[0], {count}, at least one."
                )
    shape = np.shape(queries[0])
    aspect = shape[0] / shape[1] if len(shape) > 1 and shape[1] else 1.0
    height = 1.25 * min(max(aspect, 0.2), 3.0) + 0.35
    figure = Figure(
        figsize=(1.25 * (count + 1), height * length + 0.4),
        layout="constrained",
    )
    panels = figure.subplots(length, count + 1, squeeze=False)
    for row, line in enumerate(panels):
        _draw(line[0], queries[row], f"query {query_captions[row]}".strip())
        for column, panel in enumerate(line[1:]):
            _draw(panel, neighbours[row][column], str(captions[row][column]))
            _frame(panel, is_right[row][column])
    return methods.finished(figure, title)


def _draw(panel, image, caption: str) -> None:
    image = np.asarray(image)
    if image.ndim == 3 and image.shape[-1] == 1:
        image = image[..., 0]
    is_colour = image.ndim == 3 and image.shape[-1] == 3
    if not (image.ndim == 2 or is_colour) or not image.size:
        raise ValueError(
            "Images must be (height, width) or (height, width, channels) of 1 "
            f"or 3 channels; received shape {image.shape}."
        )
    require_pixels(image)
    panel.imshow(
        np.round(image).astype(np.uint8), cmap="gray", vmin=0, vmax=255
    )
    panel.set(xticks=[], yticks=[])
    panel.set_title(caption, fontsize=7)


def _frame(panel, is_right: bool | None) -> None:
    for spine in panel.spines.values():
        if is_right is None:
            continue
        spine.set_color(_RIGHT if is_right else _WRONG)
        spine.set_linewidth(1 if is_right else 3.5)
