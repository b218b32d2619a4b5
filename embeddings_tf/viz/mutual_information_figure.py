"""Draws the information of dimensions about factors as a heat map."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.viz import methods

# Larger tables are drawn without numbers.
_ROWS_WITH_NUMBERS, _COLUMNS_WITH_NUMBERS = 32, 12
_ROWS_WITH_NAMES = 64
# Tolerance for rounding errors of 0.
_NOTHING = 1e-12


def mutual_information_figure(
    information: Any,
    factor_names: Sequence[str],
    *,
    factors: Any = None,
    chance: Any = None,
    unit: str = "nats",
    title: str = "",
):
    """Draws the information of each dimension about each factor (heat map).

    Use it to see whether dimensions specialise. Rows are sorted by the factor
    with the most information, and within a factor by the information. A
    disentangled embedding shows dark blocks along the diagonal and white
    elsewhere. Dimensions without information come last. Dimensions are counted
    from 1, as in `embedding_figure`.

    Pass `factors`, because factors with many values have more entropy. Colours
    are then shares of each factor's entropy, which is printed above its
    column. Pass `chance` too: a last row shows the information that random
    codes seem to have, and numbers below the chance of their cell are grey.

    Args:
        information: `(dims, num_factors)` in nats, at least 0, as from
            `metrics.mutual_information`.
        factor_names: One name for each factor.
        factors: Integers `(n, num_factors)`, as for `information`; None:
            colours are information, on one scale for all factors.
        chance: `(dims, num_factors)` in nats, as from
            `metrics.chance_information`; None: no row for chance.
        unit: `"nats"` or `"bits"`, the unit of the shown numbers.
        title: Title of the figure.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it. The numbers are
        in the cells unless there are more than 32 dimensions or 12 factors.

    Raises:
        ValueError: If `information` is not a matrix of finite numbers of at
            least 0, if there is not one name per factor, if `factors` or
            `chance` do not fit `information`, or if `unit` is unknown.

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
    size = np.log(2) if unit == "bits" else 1.0
    information = information / size
    entropy = None
    if factors is not None:
        entropy = entropies(factors, information.shape[1]) / size
    if chance is not None:
        chance = _checked_chance(chance, information.shape) / size
    factor, most = information.argmax(axis=1), information.max(axis=1)
    factor[most <= _NOTHING] = len(factor_names)
    order = np.lexsort((-most, factor))
    shown = information[order]
    num_dims, num_factors = shown.shape
    is_noise = np.zeros(shown.shape, bool)
    if chance is not None:
        is_noise = shown <= chance[order]
        # Below all dimensions: the mean over dimensions.
        shown = np.vstack([shown, chance.mean(axis=0)])
        is_noise = np.vstack([is_noise, np.ones((1, num_factors), bool)])
    numbers = (
        num_dims <= _ROWS_WITH_NUMBERS and num_factors <= _COLUMNS_WITH_NUMBERS
    )
    names = num_dims <= _ROWS_WITH_NAMES
    inches = 0.3 if numbers else 0.13 if names else 0.05
    height = np.clip(1.6 + inches * num_dims, 2.8, 10)
    width = max(4.5, 2.8 + 0.75 * num_factors)
    figure = Figure(figsize=(width, height), layout="constrained")
    panel = figure.subplots()
    if entropy is None:
        colours, largest = shown, max(shown.max(), _NOTHING)
        meaning = f"mutual information in {unit}"
    else:
        # A constant factor has no entropy.
        colours = shown / np.where(entropy > _NOTHING, entropy, np.inf)
        largest, meaning = 1.0, "share of the factor's entropy"
    image = panel.imshow(
        colours,
        cmap="Blues",
        vmin=0,
        vmax=largest,
        aspect="auto",
        interpolation="nearest",
    )
    if numbers:
        for row, column in np.ndindex(shown.shape):
            dark = colours[row, column] > 0.6 * largest
            light = "#808080" if is_noise[row, column] else "black"
            panel.text(
                column,
                row,
                f"{shown[row, column]:.2f}",
                ha="center",
                va="center",
                fontsize=8,
                color="white" if dark else light,
            )
    # Between the blocks of rows with most information about one factor.
    for row in np.flatnonzero(np.diff(factor[order])):
        panel.axhline(row + 0.5, color="black", linewidth=0.8)
    if chance is not None:
        panel.axhline(num_dims - 0.5, color="black", linewidth=2)
    panel.xaxis.tick_top()
    columns = [*map(str, factor_names)]
    if entropy is not None:
        columns = [
            f"{n}, {h:.2f}" for n, h in zip(columns, entropy, strict=True)
        ]
    crowded = max(map(len, columns)) > 9
    panel.set_xticks(
        range(num_factors),
        columns,
        rotation=40 if crowded else 0,
        ha="left" if crowded else "center",
    )
    rows = [f"dimension {i + 1}" for i in order] if names else []
    places = [*range(len(rows))]
    if chance is not None:
        rows, places = [*rows, "chance"], [*places, num_dims]
    panel.set_yticks(places, rows, fontsize=9 if numbers else 7)
    if not names:
        panel.set_ylabel(f"{num_dims} dimensions, sorted by factor")
    figure.colorbar(image, label=meaning)
    notes = []
    if entropy is not None:
        notes.append(f"beside a factor: its entropy in {unit}")
        if numbers:
            notes.append(f"numbers: mutual information in {unit}")
    if chance is not None:
        notes.append("chance: of permuted factors, mean over dimensions")
    if notes:
        figure.supxlabel("\n".join(notes), fontsize=8)
    return methods.finished(figure, title)


def entropies(factors: Any, num_factors: int) -> np.ndarray:
    """Entropy of each factor, in nats; ValueError unless `num_factors`."""
    factors = arrays.integers("factors", factors, 2, "(n, num_factors)")
    if factors.shape[1] != num_factors:
        raise ValueError(
            f"`factors` must have {num_factors} columns, like "
            f"`information`; received {factors.shape[1]}. Pass the factors "
            "of `information`."
        )
    found = []
    for column in factors.T:
        share = np.unique(column, return_counts=True)[1] / len(column)
        found.append(np.sum(share * np.log(1 / share)))
    return np.array(found)


def _checked_chance(chance: Any, shape: tuple[int, int]) -> np.ndarray:
    chance = arrays.numbers("chance", chance, 2, "(dims, num_factors)")
    if chance.shape != shape or chance.min() < 0:
        raise ValueError(
            f"`chance` must be at least 0 and of shape {shape}, as "
            f"`information`; received shape {chance.shape} and the smallest "
            f"value {chance.min():g}. Pass metrics.chance_information."
        )
    return chance


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
            f"{information.min():g}. Pass metrics.mutual_information."
        )
    if not hasattr(factor_names, "__len__"):
        raise ValueError(
            "`factor_names` must be a list of names; received "
            f"{factor_names!r}."
        )
    if information.shape[1] != len(factor_names):
        raise ValueError(
            f"`factor_names` must have one name per factor of "
            f"`information`, {information.shape[1]}; received "
            f"{len(factor_names)}."
        )
    return information
