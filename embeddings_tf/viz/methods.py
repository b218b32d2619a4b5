"""Common checks and styles of figures of several methods."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import numpy as np

from embeddings_tf.metrics import arrays

# Okabe and Ito's colours for the colour-blind, with grey instead of black,
# which hides error bars, and Tol's wine and olive instead of yellow, which is
# hard to see on white. With dashes and markers, 28 methods differ, also in
# grey.
_COLOURS = (
    "#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9 #777777 #882255 #999933"
).split()
_LARGEST = 1e305
_DASHES = ("-", "--", "-.", ":")
_MARKERS = "osD^vP*"


def style(index: int) -> dict[str, Any]:
    """Colour, dashes and marker of the line of a figure's method `index`."""
    return {
        "color": _COLOURS[index % len(_COLOURS)],
        "linestyle": _DASHES[index % len(_DASHES)],
        "marker": _MARKERS[index % len(_MARKERS)],
    }


def not_empty(name: str, value: Any, one: str) -> None:
    """Raises ValueError unless `value` is a non-empty sequence."""
    if not hasattr(value, "__len__") or isinstance(value, str):
        raise ValueError(
            f"{name} must be a sequence of at least {one}; received {value!r}."
        )
    if not len(value):
        raise ValueError(f"{name} must have at least {one}; received none.")


def by_name(name: str, value: Any, one: str) -> None:
    """Raises ValueError unless `value` is a non-empty mapping."""
    if not isinstance(value, Mapping):
        raise ValueError(
            f"{name} must be a dictionary from names to data; "
            f"received {value!r}."
        )
    not_empty(name, value, one)


def columns(name: str, value: Any, of: Sequence[str]) -> list[np.ndarray]:
    """Returns the vectors named `of` in `value`, finite and equally long."""
    by_name(name, value, "one entry")
    missing = [column for column in of if column not in value]
    if missing:
        raise ValueError(
            f"{name} must have the entries {', '.join(of)}; received "
            f"{', '.join(map(str, value))}."
        )
    found = {
        column: arrays.numbers(f"{name}: {column}", value[column], 1, "(n,)")
        for column in of
    }
    arrays.same_length(**found)
    return [*found.values()]


def fractions(name: str, values: Any) -> np.ndarray:
    """Returns a vector of numbers in [0, 1], also for a single number."""
    values = arrays.numbers(name, np.atleast_1d(values), 1, "(num_runs,)")
    if values.min() < 0 or values.max() > 1:
        outside = values[(values < 0) | (values > 1)][0]
        raise ValueError(
            f"`{name}` must be fractions in [0, 1]; received {outside:g}. "
            "Divide percentages by 100."
        )
    return values


def drawable(name: str, values: np.ndarray) -> None:
    """Raises ValueError if values are too large for the axes."""
    largest = float(np.abs(values).max())
    if largest > _LARGEST:
        raise ValueError(
            f"`{name}` must be at most {_LARGEST:g} to be drawn; received "
            f"{largest:g}. Rescale or drop it."
        )


def fraction(name: str, value: Any) -> float:
    """Returns `value` as a float in [0, 1]."""
    found = fractions(name, value)
    if len(found) != 1:
        raise ValueError(f"`{name}` must be one fraction; received {value!r}.")
    return found.item()


def curves(
    name: str, runs: Sequence[Mapping]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Returns points `(x, y)` of each run, x ascending, from mappings."""
    not_empty(f"`{name}`", runs, "one run")
    points = []
    for run in runs:
        if not isinstance(run, Mapping):
            raise ValueError(
                f"Each run of `{name}` must be a dictionary from positions "
                f"on the horizontal axis to values; received {run!r}."
            )
        x = arrays.numbers(name, list(run), 1, "(num_points,)")
        y = arrays.numbers(name, list(run.values()), 1, "(num_points,)")
        order = np.argsort(x)
        points.append((x[order], y[order]))
    return points


def mean_and_error(runs: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Mean over the first axis and its standard error, None for one run."""
    mean = np.mean(runs, axis=0)
    if len(runs) == 1:
        return mean, None
    return mean, np.std(runs, axis=0, ddof=1) / np.sqrt(len(runs))


def what_is_drawn(num_runs: Sequence[int]) -> str:
    """A note on the numbers of runs behind the means of a figure."""
    few, many = min(num_runs), max(num_runs)
    if many == 1:
        return "one run each"
    count = many if few == many else f"{few} to {many}"
    return f"mean ± standard error of {count} runs"


def finished(figure, title: str | None = None):
    """Returns the figure with its title, if any, and with texts as they are.

    Names of users may have a $. Only the powers of ten that Matplotlib writes
    along an axis are formulas.
    """
    from matplotlib.text import Text
    from matplotlib.ticker import LogFormatter

    if title is not None:
        figure.suptitle(title)
    with np.errstate(over="ignore"):  # margins around huge values
        texts = figure.findobj(Text)
    for drawn in texts:
        drawn.set_parse_math(False)
    for panel in figure.axes:
        for axis in (panel.xaxis, panel.yaxis):
            if isinstance(axis.get_major_formatter(), LogFormatter):
                for label in axis.get_ticklabels(which="both"):
                    label.set_parse_math(True)
    return figure
