"""Writes tables and figures of verification runs from their result files.

    python -m tools.verification_table [FOLDER ...]

A FOLDER contains the runs of one recipe with one seed. Each run is an evaluated
workdir: a fold of `trainers.cross_validate` (`fold_0`, `fold_1`, ...), or a run
that was trained alone, such as `official`, the data set's own split. The script
first copies the numbers to `benchmarks/results/verification`. From these files
it then makes the tables in `docs/results` and the figures in `docs/figures`.
"""

import collections
import statistics

from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import remake_page
from tools.paired_difference import difference_table
from tools.paired_difference import ratio_of_test_to_train
from tools.rerun_command import command_lines
from tools.rerun_command import rerun_command
from tools.verification_figures import figures
from tools.verification_results import DATASETS
from tools.verification_results import SCORES
from tools.verification_results import TASKS
from tools.verification_results import by_run
from tools.verification_results import by_seed
from tools.verification_results import collect
from tools.verification_results import load
from tools.verification_results import name_of_figure
from tools.verification_results import of_test_split
from tools.verification_results import paired_by
from tools.verification_results import paired_numbers
from tools.verification_results import rows
from tools.verification_results import title_of
from trainers.cross_validate import standard_error

PAGE = ROOT / "docs" / "results" / "verification.md"
# Measures that older runs, and scores that are no likelihood ratio, lack.
MORE = {
    "claimed": "claims: EER, %",
    "cllr": "Cllr",
    "min_cllr": "minimum",
    "cllr_logistic": "calibrated",
}
# Measures of differences: heading, digits, and factor of the numbers.
DIFFERENCES = {
    "equal_error_rate": ("EER, points", 2, 100),
    "claimed": ("claims: EER, points", 2, 100),
    "one_minus_auc": ("1 - AUC", 2, 100),
    "cllr": ("Cllr", 3, 1),
}
ON_TOP = ", distance on top"
# The row of a distance that trains without a classifier.
ALONE = "learned distance, no classifier", SCORES["learned_distance"]
BEGIN, END = "<!-- verification: begin -->", "<!-- verification: end -->"


def _span(numbers) -> str:
    """From the smallest to the largest number, or the only number."""
    numbers = list(numbers)
    ends = dict.fromkeys([min(numbers), max(numbers)])
    return " to ".join(f"{n:,}" for n in ends)


def _per_cent(numbers: list[float], error: float | None = None) -> str:
    text = f"{100 * statistics.fmean(numbers):.2f}"
    return text if error is None else f"{text} ± {100 * error:.2f}"


def _optional(measures: dict, name: str) -> str:
    """The mean of a measure that only some scores have, or nothing."""
    if not all(name in found for found in measures.values()):
        return ""
    numbers = by_run(measures, name)
    if name == "claimed":
        return _per_cent(numbers, standard_error(numbers))
    return f"{statistics.fmean(numbers):.3f}"


def measured_table(measured: dict, runs: dict) -> list[str]:
    """Returns the lines of a table of errors, and what is below it.

    Args:
        measured: As from `verification_results.rows`.
        runs: The same runs with their configs, by (key of `load`, run, seed).
    """
    more = {
        name: heading
        for name, heading in MORE.items()
        if any(name in m for of in measured.values() for m in of.values())
    }
    lines = [
        "| trained with | scored by | runs | EER, % | of each seed | 95 % "
        "| 1 - AUC, % | minDCF |"
        + "".join(f" {heading} |" for heading in more.values()),
        "|---|---|---|---:|---|---|---:|---:|" + "---:|" * len(more),
    ]
    for (method, score), measures in measured.items():
        eer = by_run(measures, "equal_error_rate")
        names = {run for run, _ in measures}
        seeds = by_seed(measures, "equal_error_rate")
        auc = by_run(measures, "one_minus_auc")
        intervals = [
            m["interval"] for m in measures.values() if "interval" in m
        ]
        ends = [
            f"{100 * statistics.fmean(ends):.1f}"
            for ends in zip(*intervals, strict=True)
        ]
        cost = statistics.fmean(by_run(measures, "min_dcf"))
        lines.append(
            f"| {method} | {score} | {len(names)} x {len(seeds)} | "
            f"{_per_cent(eer, standard_error(eer))} | "
            + " ".join(_per_cent([value]) for value in seeds)
            + f" | {' to '.join(ends)} | "
            f"{_per_cent(auc, standard_error(auc))} | {cost:.3f} |"
            + "".join(f" {_optional(measures, name)} |" for name in more)
        )
    lines += _differences(measured, runs)
    training = [run["training"] for run in runs.values()]
    tests = [of_test_split(run) for run in runs.values()]
    minutes = [t["seconds"] / 60 for t in training]
    lines += [
        "",
        f"{_span(t['trials'] for t in tests)} trials a run, of "
        f"{_span(t['classes'] for t in tests)} classes; "
        f"{max(t['steps'] for t in training):,} batches at most, "
        f"{_span(round(m, 1) for m in minutes)} minutes. Commits "
        + ", ".join(sorted({t["commit"][:7] for t in training}))
        + f"; {hardware(training)}.",
        *command_lines(_commands(runs)),
    ]
    return lines


def _differences(measured: dict, runs: dict) -> list[str]:
    """Paired differences of the learned distance to the other rows.

    A distance without the auxiliary classifier is compared with all rows, too.
    A distance on top of the embeddings of another loss is also compared with
    other scores of the same embeddings.
    """
    config = next(iter(runs.values()))["config"]
    first, *others = measured
    lines = _difference_tables(
        " by ".join(first),
        {
            " by ".join(other): (measured[first], measured[other])
            for other in others
        },
        config,
    )
    if ALONE in others:
        lines += _difference_tables(
            " by ".join(ALONE),
            {
                " by ".join(other): (measured[ALONE], measured[other])
                for other in others
                if other != ALONE
            },
            config,
        )
    on_top = {
        f"{method.removesuffix(ON_TOP)} by {score}": (
            row,
            measured[method, score],
        )
        for (method, by), row in measured.items()
        if method.endswith(ON_TOP) and by == SCORES["learned_distance"]
        for score in (SCORES["l2"], SCORES["cosine"])
        if (method, score) in measured
    }
    return lines + _difference_tables("the distance on top", on_top, config)


def _difference_tables(first: str, pairs: dict, config: dict) -> list[str]:
    """A table of differences paired by fold, and one of those by seed."""
    measures = {
        name: how
        for name, how in DIFFERENCES.items()
        if any(_have(name, *both) for both in pairs.values())
    }
    lines = []
    for unit in ("folds", "seeds"):
        of_unit = {
            name: [
                paired_numbers(*both, measure)
                if _have(measure, *both)
                else ({}, {})
                for measure in measures
            ]
            for name, both in pairs.items()
            if paired_by(*both) == unit
        }
        if of_unit:
            # Folds share training data; seeds of one run are no folds.
            ratio = ratio_of_test_to_train(config) if unit == "folds" else None
            headings, digits, scales = zip(*measures.values(), strict=True)
            lines += difference_table(
                first, headings, of_unit, ratio, digits, scales, unit
            )
    return lines


def _have(name: str, *rows: dict) -> bool:
    return all(name in found for row in rows for found in row.values())


def _commands(runs: dict) -> dict[str, str]:
    """Commands by recipe and seed; one command per cross-validation."""
    configs, names = {}, collections.defaultdict(list)
    for ((_, _, recipe), name, seed), run in runs.items():
        configs[recipe, seed] = run["config"]
        names[recipe, seed].append(name)
    commands = {}
    for (recipe, seed), of_run in sorted(names.items()):
        folds = [n.removeprefix("fold_") for n in of_run if n[:5] == "fold_"]
        workdir = f"runs/{recipe}-seed_{seed}"
        if not folds or recipe in TASKS:
            folds, workdir = [], f"{workdir}/{of_run[0]}"
        commands[f"{recipe}, seed {seed}"] = rerun_command(
            recipe, configs[recipe, seed], workdir, folds=folds
        )
    return commands


def runs_of(found: dict, dataset: str, protocol: str) -> dict:
    """Returns the runs of a table by (key of `load`, run, seed)."""
    return {
        (key, *name): run
        for key, of_recipe in found.items()
        if key[:2] == (dataset, protocol)
        for name, run in of_recipe.items()
    }


def table(found: dict) -> str:
    """Returns the Markdown between the marks."""
    parts = []
    if unknown := {key[0] for key in found} - {*DATASETS}:
        raise ValueError(
            f"received runs on {sorted(unknown)}; expected one of "
            f"{[*DATASETS]}. Add the data set to tools/verification_results.py"
        )
    for dataset in DATASETS:
        protocols = dict.fromkeys(key[1] for key in found if key[0] == dataset)
        for protocol in protocols:
            measured = rows(found, dataset, protocol)
            runs = runs_of(found, dataset, protocol)
            parts += ["", f"### {title_of(dataset, protocol)}", ""]
            parts += measured_table(measured, runs)
            if protocol not in TASKS.values():
                picture = f"{name_of_figure(dataset, protocol)}.png"
                parts += ["", f"![EER](../figures/{picture})"]
    return "\n".join(parts)


def main() -> None:
    remake_page(__doc__, collect, load, PAGE, (BEGIN, END), table, figures)


if __name__ == "__main__":
    main()
