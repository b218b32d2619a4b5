"""Figures of verification runs: the equal error rate of every row."""

import statistics

from tools.verification_results import TASKS
from tools.verification_results import name_of_figure
from tools.verification_results import rows
from tools.verification_results import title_of


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
    """Plots the EER of the rows of one table."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1.2 + 0.3 * len(measured)))
    axes = figure.subplots()
    methods = list(dict.fromkeys(method for method, _ in measured))
    for place, ((method, _), measures) in enumerate(measured.items()):
        color = f"C{methods.index(method)}"
        eer = [100 * found["equal_error_rate"] for found in measures.values()]
        axes.plot(eer, [place] * len(eer), "o", color=color, alpha=0.35, ms=5)
        mean = statistics.fmean(eer)
        axes.vlines(mean, place - 0.35, place + 0.35, color=color, lw=3)
    axes.set_yticks(
        range(len(measured)),
        [f"{method}; by {score}" for method, score in measured],
    )
    axes.set(xlabel="equal error rate, %")
    figure.suptitle(title, fontsize="medium")
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.grid(axis="x", alpha=0.3)
    figure.text(0.01, 0.01, "a point: a run; a line: the mean", fontsize=7)
    figure.set_layout_engine("constrained")
    return figure
