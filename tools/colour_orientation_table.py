"""Writes the results of colour and orientation, and Figures 2 and 3.

    python -m tools.colour_orientation_table [FOLDER ...]

A FOLDER is a workdir of the recipe
`colour_orientation_stochastic_prototypes`. The script first copies its numbers
to `benchmarks/results/colour_orientation`. It then makes the table of
`docs/results/prototypes.md` and the figures from these files only; the figures
show the first seed.
"""

import functools
import math

from tools import n_digit_table
from tools.colour_orientation_figures import grid_figure
from tools.colour_orientation_figures import variance_figure
from tools.generated_text import NOT_RUN
from tools.generated_text import ROOT
from tools.generated_text import commits
from tools.generated_text import hardware
from tools.generated_text import remake_page
from tools.keep_result import results_of
from tools.rerun_command import command_lines
from tools.rerun_command import rerun_command

RESULTS = ROOT / "benchmarks" / "results" / "colour_orientation"
PAGE = ROOT / "docs" / "results" / "prototypes.md"
BEGIN, END = (
    "<!-- colour orientation: begin -->",
    "<!-- colour orientation: end -->",
)
FACTORS = ("colour", "orientation")
GRID, VARIANCE = "prototypes_colour_grid", "prototypes_colour_variance"


def aims(test: dict) -> dict[str, tuple[float, str, bool]]:
    """Returns what must hold of a run: value, aim, and whether it holds.

    Args:
        test: Results of the test split.
    """
    below = 100 * (test["ideal_accuracy"] - test["accuracy"])
    noise, leg = (test["variance"][name] for name in ("hue_noise", "leg"))
    found = {
        "accuracy below the ideal classifier, points": (
            below,
            "at most 1",
            below <= 1,
        )
    }
    for factor in FACTORS:
        auc = test["single_dimension_auc"][factor][test["axis"][factor]]
        found[f"AUC of the axis of {factor} alone"] = (
            auc,
            "at least 0.95",
            auc >= 0.95,
        )
    # From the least noise: without noise both variances can be larger.
    least, most = noise["levels"][1], noise["levels"][-1]
    rises = {factor: noise[factor][-1] - noise[factor][1] for factor in FACTORS}
    ratio = math.inf
    if rises["orientation"] > 0:
        ratio = rises["colour"] / rises["orientation"]
    found[
        f"hue noise from {least:g} to {most:g} degrees: increase of the "
        "variance, colour over orientation"
    ] = (ratio, "at least 3", rises["colour"] > 0 and ratio >= 3)
    for factor in FACTORS:
        grown = leg["ratio"][factor]
        found[f"short legs over whole legs: variance of {factor}"] = (
            grown,
            "above 1",
            grown > 1,
        )
    return found


def _grown(curve: list[float], first: int) -> float:
    """The last value of a curve, over one of its first."""
    return curve[-1] / curve[first]


def table(results: list[dict]) -> str:
    """Returns the Markdown between the marks."""
    if not results:
        return NOT_RUN
    tests = [run["evaluation"]["test"] for run in results]
    seeds = " | ".join(f"seed {run['seed']}" for run in results)
    lines = [f"| | aim | {seeds} |", "|---|---|" + "---:|" * len(results)]
    for name, values in (
        ("accuracy, %", [100 * t["accuracy"] for t in tests]),
        (
            "ideal classifier on the same images, %",
            [100 * t["ideal_accuracy"] for t in tests],
        ),
        (
            "ideal classifier, expected, %",
            [100 * t["bayes_accuracy"] for t in tests],
        ),
    ):
        cells = " | ".join(f"{value:.2f}" for value in values)
        lines.append(f"| {name} | | {cells} |")
    every = [aims(test) for test in tests]
    for name, (_, aim, _) in every[0].items():
        cells = " | ".join(
            shown(found[name][0]) + ("" if found[name][2] else ", missed")
            for found in every
        )
        lines.append(f"| {name} | {aim} | {cells} |")
    curves = [test["variance"]["hue_noise"] for test in tests]
    for first in (1, 0):
        cells = " | ".join(
            shown(_grown(curve["colour"], first))
            + " over "
            + shown(_grown(curve["orientation"], first))
            for curve in curves
        )
        least, most = (curves[0]["levels"][i] for i in (first, -1))
        lines.append(
            f"| hue noise from {least:g} to {most:g} degrees: factor of the "
            f"variance, colour over orientation | | {cells} |"
        )
    for factor in FACTORS:
        cells = " | ".join(
            f"{curve[factor][0] / curve[factor][1]:.2f}" for curve in curves
        )
        lines.append(
            f"| variance of {factor} without noise, over the variance with hue "
            f"noise of {curves[0]['levels'][1]:g} degrees | | {cells} |"
        )
    half = [run["evaluation"]["grid"]["half_way"] for run in results]
    for factor in FACTORS:
        cells = " | ".join(
            f"{found[factor][test['axis'][factor]]:.2f}"
            for found, test in zip(half, tests, strict=True)
        )
        lines.append(
            f"| variance of {factor} half-way between two classes, over the "
            f"variance at their centres | | {cells} |"
        )
    training = [run["training"] for run in results]
    minutes = ", ".join(f"{t['seconds'] / 60:.0f}" for t in training)
    lines += [
        "",
        f"{training[0]['steps']:,} episodes, {minutes} minutes, commit "
        f"{commits(training)}; {hardware(training)}.",
        "",
        "![Shapes between the centres of the classes and their embeddings]"
        f"(../figures/{GRID}.png)",
        "",
        "![Variance of each axis against noise of the hue and length of the "
        f"legs](../figures/{VARIANCE}.png)",
    ]
    commands = {
        f"seed {run['seed']}": rerun_command(
            run["recipe"], run["config"], f"runs/{run['recipe']}_{run['seed']}"
        )
        for run in results
    }
    return "\n".join([*lines, *command_lines(commands)])


def shown(value: float) -> str:
    """A value of `aims` as text; a rise of colour alone has no ratio."""
    if math.isinf(value):
        return "the variance of orientation does not rise"
    return f"{value:.3g}"


def load() -> list[dict]:
    """Returns the contents of all result files, sorted by seed."""
    return sorted(results_of(RESULTS), key=lambda run: run["seed"])


def figures(results: list[dict]) -> dict:
    """Returns the figures of the first seed by name of file."""
    if not results:
        return {}
    evaluation = results[0]["evaluation"]
    return {
        GRID: grid_figure(evaluation["grid"], evaluation["test"]["axis"]),
        VARIANCE: variance_figure(evaluation["test"]["variance"]),
    }


def main() -> None:
    collect = functools.partial(n_digit_table.collect, folder=RESULTS)
    remake_page(__doc__, collect, load, PAGE, (BEGIN, END), table, figures)


if __name__ == "__main__":
    main()
