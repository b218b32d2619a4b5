"""Draws the trials of a search: the objective against each hyperparameter."""

from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from embeddings_tf.metrics import arrays
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import text
from embeddings_tf.ops.counted import counted
from embeddings_tf.viz import methods

_COLUMNS = 3
# Numbers that differ by this factor have an axis of powers.
_WIDE = 20
# Integers with a tick each; letters of a name that is written aslant.
_FEW, _LONG, _LONGEST = 6, 6, 24
_LARGEST = 1e300


def trials_figure(
    trials: Sequence[Mapping],
    objective: Sequence[float],
    measure: str,
    *,
    direction: str = "max",
    title: str = "",
):
    """Draws a hyperparameter search: one panel for each hyperparameter.

    Use it to see which hyperparameters matter, and whether the best value lies
    at the edge of its range, so that the range should be wider. Every dot is a
    trial; the best is a star. The first panel has the trials in their order,
    and a line for the best so far.

    Args:
        trials: The values of each trial by name of the hyperparameter. A
            conditional hyperparameter is in some of the trials only.
        objective: Value of each trial, `(num_trials,)`.
        measure: Name of the objective, such as `"val_recall_at_1"`.
        direction: `"max"` if the largest objective is the best, or `"min"`.
        title: Title of the figure.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it.

    Raises:
        ValueError: If `trials` is empty or has a trial that is not a
            dictionary. If `objective` does not have one finite number for each
            trial. If `measure` is not text, or `direction` is unknown.

    Example:

    >>> figure = embeddings_tf.viz.trials_figure(
    ...     [{"dim": 16, "rate": 1e-4}, {"dim": 64, "rate": 1e-2}],
    ...     [0.7, 0.9],
    ...     "recall@1",
    ... )
    >>> [panel.get_xlabel() for panel in figure.axes]
    ['completed trial', 'dim', 'rate']
    """
    from matplotlib.figure import Figure

    methods.not_empty("`trials`", trials, "one trial")
    for trial in trials:
        if not isinstance(trial, Mapping):
            raise ValueError(
                "`trials` must be dictionaries from names of hyperparameters "
                f"to values; received {trial!r}."
            )
    found = arrays.numbers("objective", objective, 1, "(num_trials,)")
    methods.drawable("objective", found)
    if len(found) != len(trials):
        raise ValueError(
            f"`objective` must have a value for each of "
            f"{counted(len(trials), 'trial')}; received {len(found)}."
        )
    measure = text("measure", measure)
    is_max = one_of("direction", direction, ("max", "min")) == "max"
    best = int(np.argmax(found) if is_max else np.argmin(found))
    names = list(dict.fromkeys(name for trial in trials for name in trial))
    rows = -(-(1 + len(names)) // _COLUMNS)
    columns = min(_COLUMNS, 1 + len(names))
    figure = Figure((4 * columns, 3.2 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    number = np.arange(1.0, len(found) + 1)
    panels[0].xaxis.get_major_locator().set_params(integer=True)
    if len(number) <= _FEW:
        panels[0].set_xticks(number)
    reached = np.maximum if is_max else np.minimum
    so_far = reached.accumulate(found)
    panels[0].step(number, so_far, where="post", color="0.5", linewidth=1)
    name = "completed trial"
    _draw(panels[0], name, number, found, number[best], found[best])
    for panel, name in zip(panels[1:], names, strict=False):
        has = np.array([name in trial for trial in trials])
        values = [trial[name] for trial in trials if name in trial]
        x = _positions(panel, values)
        place = np.flatnonzero(has[:best]).size if has[best] else None
        star = None if place is None else x[place]
        _draw(panel, name, x, found[has], star, found[best])
    for panel in panels[1 + len(names) :]:
        panel.set_visible(False)
    for panel in panels[::columns]:
        panel.set_ylabel(measure)
    above = [title] * bool(title) + ["dots: trials; star: the best"]
    return methods.finished(figure, "\n".join(above))


def _draw(panel, name, x, y, best_x, best_y) -> None:
    colour = methods.style(0)["color"]
    panel.scatter(x, y, s=22, color=colour, alpha=0.8, linewidths=0)
    if best_x is not None:
        colour = methods.style(1)["color"]
        panel.scatter([best_x], [best_y], s=150, marker="*", color=colour)
    panel.set_xlabel(name, parse_math=False)
    panel.grid(alpha=0.3)


def _positions(panel, values: list) -> np.ndarray:
    """Returns where values are on the horizontal axis, and sets its scale."""
    numbers = [value for value in values if _is_number(value)]
    if len(numbers) < len(values):
        kinds = sorted(set(numbers)) + sorted(
            {str(value) for value in values if not _is_number(value)}
        )
        rotation = 30 if max(len(str(kind)) for kind in kinds) > _LONG else 0
        panel.set_xticks(
            range(len(kinds)),
            [_short(str(kind)) for kind in kinds],
            parse_math=False,
            rotation=rotation,
            ha="right" if rotation else "center",
        )
        panel.set_xlim(-0.5, len(kinds) - 0.5)
        keys = [v if _is_number(v) else str(v) for v in values]
        return np.array([kinds.index(key) for key in keys], float)
    x = np.array(values, float)
    if x.min() > 0 and x.max() > _WIDE * x.min():
        panel.set_xscale("log")
    some = np.unique(x)
    if len(some) <= _FEW and np.all(some == np.round(some)):
        # Choices of integers are shown as they are.
        panel.set_xticks(some, [f"{value:g}" for value in some])
        panel.set_xticks([], minor=True)
    elif panel.get_xscale() == "linear" and np.all(x == np.round(x)):
        panel.xaxis.get_major_locator().set_params(integer=True)
    return x


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"


def _is_number(value) -> bool:
    is_real = isinstance(value, int | float | np.integer | np.floating)
    if not is_real or isinstance(value, bool):
        return False
    return abs(value) < _LARGEST  # also false for NaN
