"""Draws recall@k against k, one line per method."""

from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np

from embeddings_tf.viz import methods

# From this ratio of the largest and smallest k, the axis is logarithmic.
_WIDE = 20
# As a fraction of the axis; labels of closer k are left out.
_LABEL_WIDTH = 0.04


def recall_figure(
    recalls: Mapping[str, Sequence[Mapping[int, float]]],
    *,
    ceiling: float | None = None,
    title: str = "",
):
    """Draws recall@k against k, one line per method.

    Use it to compare embeddings by search over several folds or seeds. Lines
    are means over the runs. Bands are one standard error in both directions;
    a single run has none. The axis of k is logarithmic if the largest k is at
    least 20 times the smallest.

    Formula:

    ```
    standard error = standard deviation (n - 1) / sqrt(n)
    ```

    of the `n` runs of a method, at each k.

    Args:
        recalls: From names of methods to runs, each a result of
            `metrics.recall_at_k`: from k to a fraction in `[0, 1]`. Runs of a
            method have the same k; methods may differ.
        ceiling: A fraction, drawn at the smallest k: the upper limit of recall
            there, for instance because equal images of different classes
            cannot be distinguished.
        title: Title of the figure.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it.

    Raises:
        ValueError: If methods or runs are missing, if a k is not a positive
            integer, if runs of a method differ in k, or if a value is not
            finite or outside `[0, 1]`.

    Reference:
        - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312) compare
          such means and errors over folds.

    Example:

    >>> figure = embeddings_tf.viz.recall_figure(
    ...     {
    ...         "triplet": [{1: 0.5, 10: 0.8}, {1: 0.6, 10: 0.9}],
    ...         "F statistic": [{1: 0.7, 10: 0.9}, {1: 0.8, 10: 0.9}],
    ...     }
    ... )
    >>> figure.axes[0].lines[0].get_ydata()
    array([0.55, 0.85])
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    methods.by_name("`recalls`", recalls, "one method")
    if ceiling is not None:
        ceiling = methods.fraction("ceiling", ceiling)
    lines = {name: _same_k(name, runs) for name, runs in recalls.items()}
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    panel = figure.subplots()
    for index, (name, (k, runs)) in enumerate(lines.items()):
        mean, error = methods.mean_and_error(runs)
        style = methods.style(index)
        panel.plot(k, mean, label=name, markersize=5, **style)
        if error is not None:
            panel.fill_between(
                k,
                mean - error,
                mean + error,
                color=style["color"],
                alpha=0.2,
                linewidth=0,
            )
    every_k = np.unique(np.concatenate([k for k, _ in lines.values()]))
    if ceiling is not None:
        panel.plot(
            every_k[:1],
            [ceiling],
            color="black",
            marker="_",
            markersize=16,
            markeredgewidth=2,
            linestyle="none",
            label=f"ceiling of recall@{every_k[0]:g}",
        )
    places = every_k
    if every_k[-1] >= _WIDE * every_k[0]:
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter("{x:g}")
        places = np.log(every_k)
    if np.all(np.diff(places) >= _LABEL_WIDTH * np.ptp(places)):
        panel.set_xticks(every_k, [f"{k:.0f}" for k in every_k])
        panel.xaxis.set_minor_locator(NullLocator())
    panel.set(xlabel="k, number of nearest neighbours", ylabel="recall@k")
    panel.grid(alpha=0.3)
    figure.legend(loc="outside right center")
    figure.supxlabel(
        methods.what_is_drawn([len(runs) for _, runs in lines.values()]),
        fontsize=9,
    )
    return methods.finished(figure, title)


def _same_k(name: str, runs) -> tuple[np.ndarray, np.ndarray]:
    """k, ascending, and the recalls `(num_runs, len(k))`."""
    points = methods.curves(name, runs)
    ks = [k for k, _ in points]
    for k, recall in points:
        if np.any(k != np.round(k)) or k[0] < 1:
            raise ValueError(
                f"Recalls of {name!r} must be given by k, integers of at "
                f"least 1; received {k.tolist()}."
            )
        if not np.array_equal(k, ks[0]):
            raise ValueError(
                f"Runs of {name!r} must have the same k, to be averaged; "
                f"received {ks[0].tolist()} and {k.tolist()}."
            )
        methods.fractions(name, recall)
    return ks[0], np.stack([recall for _, recall in points])
