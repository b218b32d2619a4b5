"""Writes the study of the samplers in training, and Figure 4.

    python -m tools.samplers_study [FOLDER ...]

Accuracy against the number of samples of a query in training, for both
samplers, 2,000 episodes each (Scott, Ridgeway & Mozer 2019, Figure 4): on
characters, as in the paper, and on numbers of two digits. On numbers, the naive
sampler has two curves: from the default variance of the encoder, and from
`sampler_series.FIRST_VARIANCE`. A FOLDER is a workdir of one of the recipes of
`PARTS` with other values of `objective.sampler`, `objective.num_samples` and
`encoder.initial_variance`. Its numbers are copied to `benchmarks/results`;
tables and figures are made from there.
"""

import pathlib
import statistics
from typing import NamedTuple

from tools import n_digit_grid
from tools import n_digit_table
from tools import omniglot_table
from tools.generated_text import NOT_RUN
from tools.generated_text import ROOT
from tools.generated_text import commits
from tools.generated_text import hardware
from tools.generated_text import remake_page
from tools.paired_difference import LEGENDS
from tools.paired_difference import as_cell
from tools.paired_episodes import NOTES
from tools.paired_episodes import paired_runs
from tools.rerun_command import command_lines
from tools.rerun_command import rerun_command
from tools.run_files import run_results
from tools.sampler_series import CHARACTERS
from tools.sampler_series import EPISODES
from tools.sampler_series import NUMBERS
from tools.sampler_series import SERIES
from tools.sampler_series import series_of

PAGE = ROOT / "docs" / "results" / "prototypes.md"
BEGIN, END = (
    "<!-- training samplers: begin -->",
    "<!-- training samplers: end -->",
)


class Part(NamedTuple):
    """The study on one data set.

    Attributes:
        recipe: Its recipe.
        cells: Split, condition and heading of each number of a run.
        panels: Split and title of each panel of the figure, of clean inputs.
        figure: File of the figure, without the suffix.
        folder: Folder of its result files.
    """

    recipe: str
    cells: tuple[tuple[str, str, str], ...]
    panels: tuple[tuple[str, str], ...]
    figure: str
    folder: pathlib.Path


_TASKS = tuple(
    (
        omniglot_table.split(1, num_classes),
        f"{num_classes} classes of characters",
    )
    for num_classes in (5, 20)
)
PARTS = (
    Part(
        CHARACTERS,
        tuple((split, "clean", title) for split, title in _TASKS),
        _TASKS,
        "prototypes_samplers_characters",
        omniglot_table.RESULTS,
    ),
    Part(
        NUMBERS,
        tuple(
            (
                split,
                condition,
                f"{condition.replace('_', ' ')}, {split.removeprefix('test_')}",
            )
            for split, condition in n_digit_table.CELLS
        ),
        tuple(
            (split, f"{split.removeprefix('test_')} numbers")
            for split in n_digit_grid.SPLITS
        ),
        "prototypes_samplers",
        n_digit_table.RESULTS,
    ),
)


def by_series(runs: list[dict], recipe: str) -> dict[str, dict[int, list]]:
    """Returns evaluated runs of the study by curve and by samples.

    Args:
        runs: Results with configs.
        recipe: The recipe of the runs; others are left out.
    """
    found: dict[str, dict[int, list[dict]]] = {}
    for run in runs:
        series = series_of(run)
        is_of_part = run["recipe"] == recipe and series is not None
        if is_of_part and "evaluation" in run:
            count = run["config"]["objective"]["num_samples"]
            found.setdefault(series, {}).setdefault(count, []).append(run)
    return {
        name: dict(sorted(found[name].items()))
        for name in SERIES
        if name in found
    }


def table(found: dict[str, dict]) -> str:
    """Returns the Markdown between the marks.

    Args:
        found: Result of `by_series`, by recipe.
    """
    tables = [
        part_table(part, found[part.recipe])
        for part in PARTS
        if found.get(part.recipe)
    ]
    return "\n\n".join(tables) or NOT_RUN


def part_table(part: Part, found: dict) -> str:
    """The table of one data set, its commands and its figure."""
    lines = [
        "| sampler | samples | seeds | "
        + " | ".join(heading for *_, heading in part.cells)
        + " | minutes | commit |",
        "|---|---:|---|" + "---:|" * (len(part.cells) + 2),
    ]
    commands = {}
    for series, by_samples in found.items():
        for count, runs in by_samples.items():
            cells = [
                statistics.mean(
                    n_digit_grid.values(
                        runs, split, condition, n_digit_grid.EPISODES
                    )
                )
                for split, condition, _ in part.cells
            ]
            training = [run["training"] for run in runs]
            lines.append(
                f"| {series} | {count} | "
                + " ".join(str(run["seed"]) for run in runs)
                + " | "
                + " | ".join(f"{cell:.1f}" for cell in cells)
                + " | "
                + ", ".join(f"{t['seconds'] / 60:.0f}" for t in training)
                + " | "
                + commits(training)
                + " |"
            )
            for run in runs:
                seed = run["seed"]
                name = f"{series}, {count}, seed {seed}"
                folder = "_".join(name.replace(",", "").split())
                commands[name] = rerun_command(
                    part.recipe, run["config"], f"runs/{folder}"
                )
    training = [
        run["training"]
        for of in found.values()
        for runs in of.values()
        for run in runs
    ]
    lines += [
        "",
        f"Accuracy in %, `{part.recipe}`, {EPISODES:,} episodes; "
        f"{hardware(training)}.",
        *differences(part, found),
        *command_lines(commands),
        "",
        f"![Error against samples](../figures/{part.figure}.png)",
    ]
    return "\n".join(lines)


def differences(part: Part, found: dict) -> list[str]:
    """The table of one intersection sample minus every other setting.

    Runs are paired by seed, so that a setting of one seed is not compared with
    a mean of several.
    """
    one = found.get("intersection", {}).get(1)
    if not one:
        return []
    lines = [
        "",
        "| one intersection sample minus | samples | seeds | "
        + " | ".join(heading for *_, heading in part.cells)
        + " |",
        "|---|---:|---|" + "---:|" * len(part.cells),
    ]
    for series, by_samples in found.items():
        for count, runs in by_samples.items():
            shared = {run["seed"] for run in one} & {r["seed"] for r in runs}
            if runs is one or not shared:
                continue
            cells = [
                as_cell(paired_runs(one, runs, split, condition), 1)
                for split, condition, _ in part.cells
            ]
            seeds = " ".join(map(str, sorted(shared)))
            row = " | ".join([series, str(count), seeds, *cells])
            lines.append(f"| {row} |")
    legend = f"Points. {LEGENDS['seeds']} {NOTES['episodes']}"
    return [*lines, "", legend]


def figure(part: Part, found: dict):
    """Plots the error on clean images against the samples in training."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator
    from matplotlib.ticker import ScalarFormatter

    drawn = Figure((8.5, 4.2), layout="constrained")
    panels = drawn.subplots(1, len(part.panels), sharey=True)
    for panel, (split, title) in zip(panels, part.panels, strict=True):
        for series, by_samples in found.items():
            index = SERIES.index(series)
            cells = [
                [run["evaluation"][split]["clean"] for run in runs]
                for runs in by_samples.values()
            ]
            panel.errorbar(
                # Beside each other, where curves coincide.
                [count * 1.06 ** (index - 1) for count in by_samples],
                [
                    100 * (1 - statistics.mean(c["accuracy"] for c in of))
                    for of in cells
                ],
                [100 * max(c["interval"] for c in of) for of in cells],
                color=f"C{index}",
                marker="os^"[index],
                capsize=3,
                label=series,
            )
        panel.set_xscale("log")
        panel.set_yscale("log")
        counts = sorted({n for of in found.values() for n in of})
        panel.set_xticks(counts, counts)
        panel.yaxis.set_major_locator(
            FixedLocator([5, 10, 15, 20, 30, 40, 50, 70, 100])
        )
        panel.yaxis.set_major_formatter(ScalarFormatter())
        panel.minorticks_off()
        panel.set_xlabel("samples of a query in training")
        panel.set_title(title)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("error, % (logarithmic)")
    panels[-1].legend()
    seeds = max(len(runs) for of in found.values() for runs in of.values())
    drawn.supxlabel(
        (
            "bars: 95 % interval over test episodes; one seed"
            if seeds == 1
            else "points: means over seeds; bars: the widest 95 % interval of "
            "a seed's run, over test episodes"
        ),
        fontsize=8,
    )
    return drawn


def load() -> dict[str, dict]:
    """Returns the runs of both data sets, as for `table`."""
    runs = {
        CHARACTERS: omniglot_table.load(),
        NUMBERS: n_digit_table.every_run(),
    }
    return {recipe: by_series(of, recipe) for recipe, of in runs.items()}


def figures(found: dict[str, dict]) -> dict:
    """Returns figures by their file names, if there are results."""
    return {
        part.figure: figure(part, found[part.recipe])
        for part in PARTS
        if found.get(part.recipe)
    }


def collect(workdir: pathlib.Path, replace: bool = False) -> None:
    """Copies a run's numbers into the folder of its data set."""
    recipe = run_results(workdir)["recipe"]
    folders = {part.recipe: part.folder for part in PARTS}
    if recipe not in folders:
        raise ValueError(
            f"{workdir} is a run of {recipe}; expected {' or '.join(folders)}"
        )
    n_digit_table.collect(workdir, replace, folders[recipe])


def main() -> None:
    remake_page(__doc__, collect, load, PAGE, (BEGIN, END), table, figures)


if __name__ == "__main__":
    main()
