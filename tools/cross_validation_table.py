"""Writes tables and figures of the cross-validated runs.

    python -m tools.cross_validation_table [FOLDER ...]

A FOLDER is a workdir of `trainers.cross_validate`. The script first copies its
numbers to `benchmarks/results/cross_validation`. It then makes the tables in
`docs/results` and the figures in `docs/figures` from these result files only.
"""

import statistics

from tools.cross_validation_figures import figures
from tools.cross_validation_results import DISENTANGLING
from tools.cross_validation_results import RETRIEVAL
from tools.cross_validation_results import collect
from tools.cross_validation_results import disentangled
from tools.cross_validation_results import load
from tools.cross_validation_results import rankings
from tools.cross_validation_results import retrieved
from tools.cross_validation_results import runs_of
from tools.cross_validation_results import values
from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import remake_page
from tools.rerun_command import command_lines
from trainers.cross_validate import standard_error

PAGE = ROOT / "docs" / "results" / "sprites_and_omniglot.md"
BEGIN, END = (
    "<!-- cross-validation: begin -->",
    "<!-- cross-validation: end -->",
)
CLUSTERS = {
    "k_means": "k-means",
    "learned_distance_to_k_means": "learned distance to k-means centroids",
    "learned_distance_to_class_means": "learned distance to the class means",
}


def table(found: dict[tuple[str, str], dict]) -> str:
    """Returns the Markdown between the marks."""
    parts = []
    for dataset, heading in DISENTANGLING.items():
        if rows := disentangled(found, dataset):
            parts += ["", f"### {heading}: disentangling", ""]
            parts += _disentangling(rows)
            name = dataset.replace("/", "_")
            parts += ["", _pictures(name, "measures", "explicitness_curves")]
            parts += [_pictures(name, "modularity_curves", "auc_distribution")]
    for dataset, heading in RETRIEVAL.items():
        if rows := retrieved(found, dataset):
            parts += ["", f"### {heading}: recall of held-out classes, %", ""]
            parts += _retrieval(rows)
            parts += ["", _pictures(dataset.replace("/", "_"), "recall")]
            parts += _clusters(rows, heading)
    return "\n".join(parts)


def _folds(results: dict) -> str:
    seeds = {fold: len(runs) for fold, runs in results["folds"].items()}
    if len({*seeds.values()}) > 1:
        return ", ".join(f"{fold} x {n} seeds" for fold, n in seeds.items())
    (number,) = {*seeds.values()}
    return ", ".join(seeds) + f" x {number} seeds" * (number > 1)


def _pictures(prefix: str, *names: str) -> str:
    return "\n".join(
        f"![{name.replace('_', ' ')}](../figures/{prefix}_{name}.png)"
        for name in names
    )


def _cell(numbers: list[float], digits: int = 3, scale: float = 1) -> str:
    error = standard_error(numbers)
    text = f"{scale * statistics.fmean(numbers):.{digits}f}"
    return text if error is None else f"{text} ± {scale * error:.{digits}f}"


def _run_columns(results: dict) -> str:
    training = [run["training"] for run in runs_of(results)]
    # Early stopping may end some runs sooner.
    steps = [t["steps"] for t in training]
    fewest, most = min(steps), max(steps)
    return (
        f" | {most if fewest == most else f'{fewest} to {most}'} | "
        f"{statistics.fmean([t['seconds'] for t in training]) / 60:.1f} | "
        + " ".join(sorted({t["commit"][:7] for t in training}))
        + " |"
    )


def _disentangling(rows: dict[str, dict]) -> list[str]:
    lines = [
        "| method | folds | modularity | explicitness "
        "| explicitness, held out | single-dimension AUC "
        "| batches | minutes a fold | commit |",
        "|---|---|" + "---:|" * 7,
    ]
    names = ("modularity", "explicitness", "explicitness_held_out")
    names += ("single_dimension_auc",)
    for method, results in rows.items():
        cells = [_cell(values(results, f"test.{name}")) for name in names]
        lines.append(
            f"| {method} | {_folds(results)} | "
            + " | ".join(cells)
            + _run_columns(results)
        )
    first = next(iter(rows.values()))
    cells = [_cell(values(first, f"test_untrained.{name}")) for name in names]
    lines.append(
        f"| *untrained network* | {_folds(first)} | "
        + " | ".join(cells)
        + " | | | |"
    )
    ideal = {
        fold: run["evaluation"]["test"]["modularity_of_ideal"]
        for fold, runs in first["folds"].items()
        for run in runs
        if "modularity_of_ideal" in run["evaluation"]["test"]
    }
    if ideal:
        lines.append(
            f"| *one dimension for every value* | {', '.join(ideal)} | "
            f"{_cell([*ideal.values()])} | | | | | | |"
        )
    return lines + _hardware(rows)


def _retrieval(rows: dict[str, dict]) -> list[str]:
    first = next(iter(rows.values()))
    ks = first["config"]["evaluation"]["k"]
    lines = [
        "| loss | folds | "
        + " | ".join(f"recall@{k}" for k in ks)
        + " | batches | minutes a fold | commit |",
        "|---|---|" + "---:|" * (len(ks) + 3),
    ]
    for method, (results, ranking) in rankings(rows).items():
        cells = [
            _cell(values(results, f"{ranking}.recall_at_{k}"), 2, 100)
            for k in ks
        ]
        lines.append(
            f"| {method} | {_folds(results)} | "
            + " | ".join(cells)
            + _run_columns(results)
        )
    cells = [
        _cell(values(first, f"test_untrained.recall_at_{k}"), 2, 100)
        for k in ks
    ]
    lines.append(
        f"| *untrained network* | {_folds(first)} | "
        + " | ".join(cells)
        + " | | | |"
    )
    lines.append(
        f"| *ceiling of equal images* | {_folds(first)} | "
        + _cell(values(first, "test.ceiling"), 2, 100)
        + " |" * (len(ks) + 3)
    )
    return lines + _hardware(rows)


def _clusters(rows: dict[str, dict], heading: str) -> list[str]:
    """Returns rows of the methods that were evaluated with `cluster`."""
    lines = []
    for method, results in rows.items():
        run = runs_of(results)[0]
        for clusters, name in CLUSTERS.items():
            measure = f"mutual_information_{clusters}"
            if measure in run["evaluation"]["test"]:
                cell = _cell(values(results, f"test.{measure}"), 3)
                folds = _folds(results)
                lines.append(f"| {method} | {name} | {folds} | {cell} |")
    if not lines:
        return []
    return [
        "",
        f"### {heading}: clusters of held-out classes",
        "",
        "| loss | clusters | folds | normalized mutual information |",
        "|---|---|---|---:|",
        *lines,
    ]


def _hardware(rows: dict[str, dict]) -> list[str]:
    training = [
        run["training"] for results in rows.values() for run in runs_of(results)
    ]
    commands = {
        f"{name}, seed {seed}": command
        for name, results in rows.items()
        for seed, command in results["commands"].items()
    }
    return ["", f"Hardware: {hardware(training)}.", *command_lines(commands)]


def main() -> None:
    remake_page(__doc__, collect, load, PAGE, (BEGIN, END), table, figures)


if __name__ == "__main__":
    main()
