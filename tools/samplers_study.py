"""Writes the study of the samplers in training, and Figure 4.

    python -m tools.samplers_study [FOLDER ...]

Accuracy against the number of samples of a query in training, for both
samplers, 2,000 episodes each (Scott, Ridgeway & Mozer 2019, Figure 4). The
naive sampler has two curves: from the default variance of the encoder, and from
`sampler_series.FIRST_VARIANCE`. A FOLDER is a workdir of
`n_digit_2_dim_2_stochastic_prototypes` with other values of
`objective.sampler`, `objective.num_samples` and `encoder.initial_variance`. Its
numbers are copied to `benchmarks/results/n_digit`; table and figure are made
from there.
"""

import statistics

from tools import n_digit_grid
from tools import n_digit_table
from tools.generated_text import NOT_RUN
from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import remake_page
from tools.rerun_command import command_lines
from tools.rerun_command import rerun_command
from tools.sampler_series import EPISODES
from tools.sampler_series import RECIPE
from tools.sampler_series import SERIES
from tools.sampler_series import series_of

PAGE = ROOT / "docs" / "results" / "prototypes.md"
BEGIN, END = (
    "<!-- training samplers: begin -->",
    "<!-- training samplers: end -->",
)
FIGURE = "prototypes_samplers"


def by_series(runs: list[dict]) -> dict[str, dict[int, list[dict]]]:
    """Returns evaluated runs of the study by curve and by samples.

    Args:
        runs: Results with configs.
    """
    found: dict[str, dict[int, list[dict]]] = {}
    for run in runs:
        series = series_of(run)
        if series is not None and "evaluation" in run:
            count = run["config"]["objective"]["num_samples"]
            found.setdefault(series, {}).setdefault(count, []).append(run)
    return {
        name: dict(sorted(found[name].items()))
        for name in SERIES
        if name in found
    }


def table(found: dict) -> str:
    """Returns the Markdown between the marks."""
    if not found:
        return NOT_RUN
    lines = [
        "| sampler | samples | seeds | "
        + " | ".join(
            f"{condition.replace('_', ' ')}, {split.removeprefix('test_')}"
            for split, condition in n_digit_table.CELLS
        )
        + " | minutes | commit |",
        "|---|---:|---|" + "---:|" * (len(n_digit_table.CELLS) + 2),
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
                for split, condition in n_digit_table.CELLS
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
                + " ".join(sorted({t["commit"][:7] for t in training}))
                + " |"
            )
            for run in runs:
                seed = run["seed"]
                name = f"{series}, {count}, seed {seed}"
                folder = "_".join(name.replace(",", "").split())
                commands[name] = rerun_command(
                    RECIPE, run["config"], f"runs/{folder}"
                )
    training = [
        run["training"]
        for of in found.values()
        for runs in of.values()
        for run in runs
    ]
    lines += [
        "",
        f"Accuracy in %, `{RECIPE}`, {EPISODES:,} episodes; "
        f"{hardware(training)}.",
        *command_lines(commands),
        "",
        f"![Accuracy against samples](../figures/{FIGURE}.png)",
    ]
    return "\n".join(lines)


def figure(found: dict):
    """Plots accuracy on clean images against the samples in training."""
    from matplotlib.figure import Figure

    drawn = Figure((8.5, 4.2), layout="constrained")
    panels = drawn.subplots(1, len(n_digit_grid.SPLITS), sharey=True)
    for panel, split in zip(panels, n_digit_grid.SPLITS, strict=True):
        for series, by_samples in found.items():
            index = SERIES.index(series)
            cells = [
                [run["evaluation"][split]["clean"] for run in runs]
                for runs in by_samples.values()
            ]
            panel.errorbar(
                [*by_samples],
                [
                    100 * statistics.mean(c["accuracy"] for c in of)
                    for of in cells
                ],
                [100 * max(c["interval"] for c in of) for of in cells],
                color=f"C{index}",
                marker="os^"[index],
                capsize=3,
                label=series,
            )
        panel.set_xscale("log")
        counts = sorted({n for of in found.values() for n in of})
        panel.set_xticks(counts, counts)
        panel.minorticks_off()
        panel.set_xlabel("samples of a query in training")
        panel.set_title(f"{split.removeprefix('test_')} numbers")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("accuracy, %")
    panels[-1].legend()
    drawn.supxlabel(
        "points: means over seeds; bars: the widest 95 % interval of a seed's "
        "run, over test episodes",
        fontsize=8,
    )
    return drawn


def load() -> dict:
    return by_series(n_digit_table.every_run())


def figures(found: dict) -> dict:
    """Returns the figure by its file name, if there are results."""
    return {FIGURE: figure(found)} if found else {}


def main() -> None:
    remake_page(
        __doc__, n_digit_table.collect, load, PAGE, (BEGIN, END), table, figures
    )


if __name__ == "__main__":
    main()
