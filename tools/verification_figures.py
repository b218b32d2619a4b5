"""Figures of verification runs: the equal error rate of every row."""

import math
import statistics

from tools.verification_results import SCORES
from tools.verification_results import TASKS
from tools.verification_results import name_of_figure
from tools.verification_results import rows
from tools.verification_results import title_of

# Errors, in %, at which the axis of errors may have a number.
TICKS = (0.1, 0.2, 0.5, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30)
TICKS += (32, 34, 36, 38, 40, 42, 44, 46, 48, 50)


def ticks_between(low: float, high: float) -> list[float]:
    """Returns the numbers of a logarithmic axis whose texts do not touch."""
    kept: list[float] = []
    for tick in TICKS:
        apart = math.log(tick / kept[-1]) if kept else math.inf
        if low < tick < high and apart >= 0.05 * math.log(high / low):
            kept.append(tick)
    return kept


def figures(found: dict) -> dict:
    """Plots EER by row: a point per run, a line at the mean over runs."""
    return {
        name_of_figure(dataset, protocol): error_figure(
            rows(found, dataset, protocol), title_of(dataset, protocol)
        )
        for dataset, protocol in dict.fromkeys(key[:2] for key in found)
        if protocol not in TASKS.values()
    }


def error_figure(measured: dict, title: str):
    """Plots the EER of the rows of one table: a group of rows per method."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.ticker import NullLocator

    # No error at all is drawn as a tenth of a percent.
    errors = {
        row: [max(0.1, 100 * run["equal_error_rate"]) for run in runs.values()]
        for row, runs in measured.items()
    }
    low = 0.95 * min(map(min, errors.values()))
    high = 1.05 * max(map(max, errors.values()))
    methods = list(dict.fromkeys(method for method, _ in measured))
    # A score has one colour in all figures.
    colors = {s: f"C{number}" for number, s in enumerate(SCORES.values())}
    scores = [s for s in colors if any(s == score for _, score in measured)]
    figure = Figure(
        figsize=(8, 1.8 + 0.14 * len(measured) + 0.16 * len(methods)),
        layout="constrained",
    )
    axes = figure.subplots()
    ends, ticks = [0.0], []
    for method in methods:
        rows_of_method = [row for row in measured if row[0] == method]
        for number, row in enumerate(rows_of_method):
            place, color = ends[-1] + number, colors[row[1]]
            eer = errors[row]
            axes.plot(
                eer, [place] * len(eer), "o", color=color, alpha=0.3, ms=4
            )
            mean = statistics.fmean(eer)
            axes.vlines(mean, place - 0.45, place + 0.45, color=color, lw=3)
        ticks.append(ends[-1] + (len(rows_of_method) - 1) / 2)
        ends.append(ends[-1] + len(rows_of_method) + 1)
    axes.set_yticks(ticks, methods)
    for end in ends[1:-1]:
        axes.axhline(end - 1, color="0.9", lw=0.8)
    axes.set_ylim(ends[-1] - 1.2, -0.8)
    axes.set(
        xlabel="equal error rate, %, log scale; a point: a run, a bar: the mean"
    )
    axes.set_xscale("log")  # else the lowest errors lie on each other
    axes.set_xticks(ticks_between(low, high) or [low, high])
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(low, high)
    axes.grid(axis="x", alpha=0.3)
    handles = [
        Line2D([], [], color=colors[score], lw=3, label=score)
        for score in scores
    ]
    figure.legend(
        handles=handles, title="scored by", ncols=3, loc="outside lower center"
    )
    figure.suptitle(title, fontsize="medium")
    return figure
