"""Draws detection error trade-off curves, one per score."""

from collections.abc import Mapping

import numpy as np

from embeddings_tf.viz import methods

_TICKS = (1e-4, 1e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.99)
_HIGHEST = 0.6


def det_figure(
    curves: Mapping[str, Mapping[str, np.ndarray]], *, title: str = ""
):
    """Draws detection error trade-off (DET) curves.

    Use it to compare scores of the same pairs over all thresholds: lower is
    better, and the EER is where a curve meets the dotted diagonal. A false
    accept (or false alarm) is a pair of different classes that is accepted, a
    miss is a pair of one class that is rejected.

    Formula: both axes are on the scale of the quantiles of a Gaussian,

    ```
    (ppf(false_alarm), ppf(miss)),    ppf = scipy.stats.norm.ppf
    ```

    so Gaussian scores give straight lines. Rates of 0 and 1, infinitely far
    away, are outside the axes. The axes start at half the smallest rate above
    0, but not below 0.001 %, and end at 60 %.

    Args:
        curves: From names of scores to results of `metrics.det_curve`, of
            which `false_alarm` and `miss` are used: vectors of one length, in
            `[0, 1]`.
        title: Title of the figure.

    Returns:
        A `matplotlib.figure.Figure`; `save_figure` writes it.

    Raises:
        ValueError: If there are no curves, or if the rates of a curve are
            missing, differ in length, or are not finite or outside `[0, 1]`.

    Reference:
        - [Martin, Doddington, Kamm, Ordowski & Przybocki, 1997](https://www.isca-archive.org/eurospeech_1997/martin97b_eurospeech.html)

    Example:

    >>> curve = embeddings_tf.metrics.det_curve([4.0, 3.0, 1.0], [1, 0, 1])
    >>> figure = embeddings_tf.viz.det_figure({"cosine": curve})
    >>> len(figure.axes[0].lines)
    2
    """
    from matplotlib.figure import Figure
    from scipy.stats import norm

    methods.by_name("`curves`", curves, "one score")
    rates = {name: _rates(name, curve) for name, curve in curves.items()}
    every = np.concatenate([both.ravel() for both in rates.values()])
    smallest = every[every > 0].min(initial=_HIGHEST)
    lowest = np.clip(smallest / 2, 1e-5, 0.1)
    # Outside the axes, but finite, so that lines keep their direction.
    outside = lowest / 100
    figure = Figure(figsize=(5.6, 5.8), layout="constrained")
    panel = figure.subplots()
    for index, (name, both) in enumerate(rates.items()):
        x, y = norm.ppf(np.clip(both, outside, 1 - outside))
        style = methods.style(index) | {"marker": ""}
        panel.plot(x, y, label=name, **style)
    limits = norm.ppf([lowest, _HIGHEST])
    panel.plot(limits, limits, color="black", linestyle=":", linewidth=1)
    ticks = [tick for tick in _TICKS if lowest <= tick <= _HIGHEST]
    names = [f"{100 * tick:g}" for tick in ticks]
    panel.set_xticks(norm.ppf(ticks), names)
    panel.set_yticks(norm.ppf(ticks), names)
    panel.set(
        xlim=limits,
        ylim=limits,
        aspect="equal",
        xlabel="false accepts, % of pairs of different classes",
        ylabel="misses, % of pairs of one class",
    )
    panel.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=2)
    return methods.finished(figure, title)


def _rates(name: str, curve: Mapping[str, np.ndarray]) -> np.ndarray:
    """Returns false alarms and misses `(2, n)`."""
    methods.by_name(f"The curve of {name!r}", curve, "one rate")
    for rate in ("false_alarm", "miss"):
        if rate not in curve:
            raise ValueError(
                f"The curve of {name!r} must have the entries false_alarm and "
                f"miss; received {', '.join(curve) or 'none'}. Pass the "
                "result of metrics.det_curve."
            )
    x = methods.fractions(f"{name}: false_alarm", curve["false_alarm"])
    y = methods.fractions(f"{name}: miss", curve["miss"])
    if len(x) != len(y):
        raise ValueError(
            f"The rates of {name!r} must have the same thresholds; received "
            f"{len(x)} false alarms and {len(y)} misses."
        )
    return np.stack([x, y])
