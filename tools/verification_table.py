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
from collections.abc import Mapping

from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import remake_page
from tools.paired_difference import difference_table
from tools.paired_difference import ratio_of_test_to_train
from tools.rerun_command import command_lines
from tools.rerun_command import first_command
from tools.rerun_command import rerun_command
from tools.verification_figures import figures
from tools.verification_results import DATASETS
from tools.verification_results import DIVISION
from tools.verification_results import FOLDS
from tools.verification_results import METHODS
from tools.verification_results import SCORES
from tools.verification_results import TASKS
from tools.verification_results import by_run
from tools.verification_results import by_seed
from tools.verification_results import collect
from tools.verification_results import initial_run_of
from tools.verification_results import load
from tools.verification_results import missing
from tools.verification_results import name_of_figure
from tools.verification_results import of_test_split
from tools.verification_results import paired_by
from tools.verification_results import paired_numbers
from tools.verification_results import rows
from tools.verification_results import title_of
from trainers.measures.standard_error import standard_error

PAGE = ROOT / "docs" / "results" / "verification.md"
# Measures that some committed runs lack. Scores without the meaning of a
# likelihood ratio lack them, too.
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
BESIDE = ", distance beside"
FIXED = ", distance on the fixed encoder"
JOINT = ", together with the distance"
# Methods whose distance scores embeddings that another loss trains.
BOTH = [
    name for name in METHODS.values() if name.endswith((BESIDE, FIXED, JOINT))
]
BASELINES = METHODS["triplet"], METHODS["triplet_classifier"]
# The row of a distance that trains without a classifier.
ALONE = "learned distance, no classifier", SCORES["learned_distance"]
# The folder of a data set whose recipes name no folder.
FOLDER = {"tiny_images": "image_folder:tiny_imagenet_32"}
NOTHING: Mapping[str, str] = {}
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


def measured_table(
    measured: dict, runs: dict, not_run: Mapping[str, str] = NOTHING
) -> list[str]:
    """Returns the lines of a table of errors, and what is below it.

    Args:
        measured: As from `verification_results.rows`.
        runs: The same runs with their configs, by (key of `load`, run, seed).
        not_run: Commands of the methods without a result.
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
        counts = collections.Counter(seed for _, seed in measures)
        of_seeds = sorted(set(counts.values()))
        shown = " or ".join(map(str, of_seeds)) + f" x {len(counts)}"
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
            f"| {method} | {score} | {shown} | "
            f"{_per_cent(eer, standard_error(eer))} | "
            + " ".join(_per_cent([value]) for value in seeds)
            + f" | {' to '.join(ends)} | "
            f"{_per_cent(auc, standard_error(auc))} | {cost:.3f} |"
            + "".join(f" {_optional(measures, name)} |" for name in more)
        )
    lines += [
        f"| {method} | | not run |" + " |" * (5 + len(more))
        for method in not_run
    ]
    if not measured:
        return [*lines, *_commands_below(not_run)]
    lines += [
        "",
        '<details markdown="1"><summary>All differences, with tests</summary>',
        *_differences(measured, runs),
        "",
        "</details>",
    ]
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
        *_commands_below(not_run, _commands(runs)),
    ]
    return lines


def _commands_below(not_run: Mapping[str, str], commands=NOTHING) -> list[str]:
    later = {f"{method}, not run": line for method, line in not_run.items()}
    return command_lines({**commands, **later})


def _differences(measured: dict, runs: dict) -> list[str]:
    """Paired differences of the learned distance to the other rows.

    A distance without the auxiliary classifier is compared with all rows, too.
    Another table has chosen pairs.
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
    pairs = {
        f"{_named(*first)} minus {_named(*second)}": (
            measured[first],
            measured[second],
        )
        for first, second in _chosen()
        if {first, second} <= {*measured}
    }
    return lines + _difference_tables(
        None, pairs | _calibrations(measured), config
    )


def _chosen() -> list[tuple]:
    """Pairs of rows that are compared with each other.

    The triplet loss with and without a classifier; a distance of embeddings
    that another loss trains, and other scores of the same embeddings; training
    anew and fine-tuning; a distance trained after the encoder, beside it, and
    with it.
    """
    distance = SCORES["learned_distance"]
    chosen = [
        tuple((method, SCORES[score]) for method in BASELINES)
        for score in ("cosine", "cosine_as_norm", "plda")
    ]
    chosen += [
        ((method, distance), (method, SCORES[score]))
        for method in (METHODS["triplet_classifier"], *BOTH)
        for score in ("cosine", "cosine_as_norm", "plda", "l2")
    ]
    chosen += [
        ((method, SCORES["plda"]), (method, SCORES["cosine_as_norm"]))
        for method in BOTH
    ]
    anew, before = (
        METHODS[f"unseen_digits_{name}"]
        for name in ("learned_distance", "fine_tuned")
    )
    chosen += [
        ((anew, SCORES[score]), (before, SCORES[score]))
        for score in ("cosine", "plda")
    ]
    chosen += [
        ((method, distance), (method.replace(first, second), distance))
        for first, second in (
            (JOINT, FIXED),
            (JOINT, BESIDE),
            (BESIDE, FIXED),
        )
        for method in BOTH
        if method.endswith(first)
    ]
    return chosen


def _named(method: str, score: str) -> str:
    return f"{method} by {score}"


def _calibrations(measured: dict) -> dict[str, tuple]:
    """Pairs of the Cllr of a row before and after calibration."""
    return {
        f"{_named(*row)}, before minus after calibration": tuple(
            {run: {"cllr": found[name]} for run, found in measures.items()}
            for name in ("cllr", "cllr_logistic")
        )
        for row, measures in measured.items()
        if _have("cllr", measures) and _have("cllr_logistic", measures)
    }


def _difference_tables(
    first: str | None, pairs: dict, config: dict
) -> list[str]:
    """A table of differences paired by fold, and one of those by seed.

    Pairs with several folds and several seeds are in both.
    """
    measures = {
        name: how
        for name, how in DIFFERENCES.items()
        if any(_have(name, *both) for both in pairs.values())
    }
    lines = []
    for unit in ("folds", "seeds of folds", "seeds"):
        of_unit = {
            name: [
                paired_numbers(*both, measure, unit)
                if _have(measure, *both)
                else ({}, {})
                for measure in measures
            ]
            for name, both in pairs.items()
            if unit in paired_by(*both)
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
    last, names = {}, collections.defaultdict(list)
    for ((_, _, recipe), name, seed), run in runs.items():
        last[recipe, seed] = run
        names[recipe, seed].append(name)
    commands = {}
    for (recipe, seed), of_run in sorted(names.items()):
        folds = [n.removeprefix("fold_") for n in of_run if n[:5] == "fold_"]
        workdir = f"runs/{recipe}-seed_{seed}"
        if not folds or recipe in TASKS:
            folds, workdir = [], f"{workdir}/{of_run[0]}"
        run = last[recipe, seed]
        commands[f"{recipe}, seed {seed}"] = rerun_command(
            recipe,
            run["config"],
            workdir,
            folds=folds,
            initial_run=initial_run_of(run),
        )
    return commands


def _first_commands(found: dict, dataset: str, protocol: str) -> dict[str, str]:
    """Commands of the methods without a result, with the folds of others."""
    names = {run for _, run, _ in runs_of(found, dataset, protocol)}
    folds = sorted(name.removeprefix("fold_") for name in names)
    fields, below = [], ""
    if protocol == DIVISION:
        folds, fields = [], [f"dataset={FOLDER[dataset]}"]
        below = f"/{DIVISION}"
    return {
        method: first_command(
            recipe, f"runs/{recipe}-seed_0{below}", fields, folds
        )
        for method, recipe in missing(found, dataset, protocol).items()
    }


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
        protocols = [key[1] for key in found if key[0] == dataset]
        own = DIVISION if dataset in FOLDER else FOLDS
        for protocol in dict.fromkeys(protocols or [own]):
            measured = rows(found, dataset, protocol)
            runs = runs_of(found, dataset, protocol)
            parts += ["", f"### {title_of(dataset, protocol)}", ""]
            not_run = _first_commands(found, dataset, protocol)
            parts += measured_table(measured, runs, not_run)
            if measured and protocol not in TASKS.values():
                picture = f"{name_of_figure(dataset, protocol)}.png"
                parts += ["", f"![EER](../figures/{picture})"]
    return "\n".join(parts)


def main() -> None:
    remake_page(__doc__, collect, load, PAGE, (BEGIN, END), table, figures)


if __name__ == "__main__":
    main()
