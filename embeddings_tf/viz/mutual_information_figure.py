"""Which dimension of an embedding tells about which factor."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import one_of

# More rows or columns than these are drawn without numbers.
_ROWS_WITH_NUMBERS, _COLUMNS_WITH_NUMBERS = 32, 12
_ROWS_WITH_NAMES = 64
# Rounding of 0.
_NOTHING = 1e-12


def mutual_information_figure(
    information: Any,
    factor_names: Sequence[str],
    *,
    unit: str = "nats",
    title: str = "",
):
    """Draws what each dimension tells about each factor, as a heat map.

    Use it to see whether dimensions specialise: rows are sorted by the factor
    they tell most about, and within a factor by how much, so a disentangled
    embedding shows dark blocks along the diagonal and white elsewhere.
    Dimensions that tell nothing come last. Dimensions are counted from 1, as
    in `embedding_figure`.

    Args:
        information: `(dims, num_factors)` in nats, at least 0, as from
            `metrics.mutual_information`.
        factor_names: One name for each factor.
        unit: `"nats"` or `"bits"`, what is drawn.
        title: Above the figure.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it. The numbers are
        in the cells unless there are more than 32 dimensions or 12 factors.

    Raises:
        ValueError: If `information` is not a matrix of finite numbers of at
            least 0, if there is not one name per factor, or if `unit` is
            unknown.

    Reference:
        - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312), whose
          modularity is computed from this matrix.

    Example:

    >>> figure = embeddings_tf.viz.mutual_information_figure(
    ...     [[0.0, 0.6], [0.5, 0.1]], ["hair", "arms"]
    ... )
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['dimension 2', 'dimension 1']
    """
    from matplotlib.figure import Figure

    information = checked_information(information, factor_names)
    one_of("unit", unit, ("nats", "bits"))
    if unit == "bits":
        information = information / np.log(2)
    factor, most = information.argmax(axis=1), information.max(axis=1)
    factor[most <= _NOTHING] = len(factor_names)
    order = np.lexsort((-most, factor))
    shown = information[order]
    num_dims, num_factors = shown.shape
    numbers = (
        num_dims <= _ROWS_WITH_NUMBERS and num_factors <= _COLUMNS_WITH_NUMBERS
    )
    names = num_dims <= _ROWS_WITH_NAMES
    inches = 0.3 if numbers else 0.13 if names else 0.05
    height = np.clip(1.6 + inches * num_dims, 2.8, 10)
    width = max(4.5, 2.8 + 0.75 * num_factors)
    figure = Figure(figsize=(width, height), layout="constrained")
    panel = figure.subplots()
    largest = max(shown.max(), _NOTHING)
    image = panel.imshow(
        shown,
        cmap="Blues",
        vmin=0,
        vmax=largest,
        aspect="auto",
        interpolation="nearest",
    )
    if numbers:
        for row, column in np.ndindex(shown.shape):
            value = shown[row, column]
            panel.text(
                column,
                row,
                f"{value:.2f}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if value > 0.6 * largest else "black",
            )
    # Between the blocks of rows that tell most about the same factor.
    for row in np.flatnonzero(np.diff(factor[order])):
        panel.axhline(row + 0.5, color="black", linewidth=0.8)
    panel.xaxis.tick_top()
    crowded = max(map(len, map(str, factor_names))) > 9
    panel.set_xticks(
        range(num_factors),
        factor_names,
        rotation=40 if crowded else 0,
        ha="left" if crowded else "center",
    )
    if names:
        panel.set_yticks(
            range(num_dims),
            [f"dimension {i + 1}" for i in order],
            fontsize=9 if numbers else 7,
        )
    else:
        panel.set_yticks([])
        panel.set_ylabel(f"{num_dims} dimensions, sorted by factor")
    figure.colorbar(image, label=f"mutual information in {unit}")
    figure.suptitle(title)
    return figure


def checked_information(
    information: Any, factor_names: Sequence[str]
) -> np.ndarray:
    """The matrix as an array; ValueError unless it fits the names."""
    information = arrays.numbers(
        "information", information, 2, "(dims, num_factors)"
    )
    if information.min() < 0:
        raise ValueError(
            "`information` must be at least 0; received "
            f"{information.min():g}. metrics.mutual_information gives it."
        )
    if information.shape[1] != len(factor_names):
        raise ValueError(
            f"`factor_names` has {len(factor_names)} names for the "
            f"{information.shape[1]} factors of `information`; give one for "
            "each."
        )
    return information
