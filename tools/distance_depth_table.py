"""Writes the table of errors by number of hidden layers of the distance.

    python -m tools.distance_depth_table [FOLDER ...]

A FOLDER is a workdir of `trainers.cross_validate` for a recipe with one depth
of the distance; the table prints the command of each row. The script first
copies the numbers to `benchmarks/results/distance_depth`. It then makes the
table in `docs/results` and the figure in `docs/figures` from these files. The
recipe's own depth and the triplet loss come from the same folds and seed in
`benchmarks/results/verification`.
"""

import json
import pathlib
import statistics

from tools.generated_text import ROOT
from tools.generated_text import remake_page
from tools.keep_result import keep_result
from tools.paired_difference import difference_table
from tools.paired_difference import ratio_of_test_to_train
from tools.rerun_command import command_lines
from tools.rerun_command import rerun_command
from tools.run_files import run_config
from tools.run_files import run_results
from tools.verification_results import RESULTS as VERIFICATION
from trainers.measures.standard_error import standard_error

RESULTS = ROOT / "benchmarks" / "results" / "distance_depth"
FIGURE = "distance_depth"
PAGE = ROOT / "docs" / "results" / "verification.md"
BEGIN, END = "<!-- distance depth: begin -->", "<!-- distance depth: end -->"
SCORES = {"learned_distance": "learned distance", "cosine": "cosine"}
# The recipe's own number of hidden layers; it is compared with all rows.
OWN = 3


def collect(folder: pathlib.Path, replace: bool = False) -> None:
    """Copies the numbers of a cross-validation into the repository."""
    results = run_results(folder)
    config = run_config(folder)
    depth = depth_of(config)
    name = f"depth_{depth}" if depth else "triplet"
    keep_result(
        RESULTS / f"{config['dataset'].replace('/', '-')}-{name}.json",
        {
            "recipe": results["recipe"],
            "config": config,
            "folds": results["folds"],
        },
        replace=replace,
    )


def depth_of(config: dict) -> int:
    """Returns the number of hidden layers; 0 for the baseline without."""
    if "objective" not in config:
        return 0
    return len(config["objective"]["distance"]["hidden_units"])


def load() -> dict[int, dict]:
    """Returns results by depth; depth 0 is the baseline.

    Raises:
        SystemExit: If the results are for several data sets or folds.
    """
    every = [json.loads(p.read_text()) for p in sorted(RESULTS.glob("*.json"))]
    kinds = {(r["config"]["dataset"], *r["folds"]) for r in every}
    if len(kinds) > 1:
        raise SystemExit(
            f"{RESULTS} mixes data sets or folds, {sorted(kinds)}; remove "
            "results that are not to be compared"
        )
    found = {depth_of(r["config"]): r for r in every}
    for dataset, *folds in kinds:
        for method in ("learned_distance", "triplet"):
            path = VERIFICATION / f"{dataset}_{method}-seed_0.json"
            if not path.exists():
                continue
            runs = json.loads(path.read_text())["runs"]
            of_folds = {fold: runs[f"fold_{fold}"] for fold in folds}
            config = of_folds[folds[0]]["config"]
            recipe = f"{dataset}_{method}"
            same = {"recipe": recipe, "config": config, "folds": of_folds}
            found.setdefault(depth_of(config), same)
    return found


def errors(results: dict, score: str) -> list[float]:
    """Returns the EER of each fold in per cent, or [] without that score."""
    return [*errors_by_fold(results, score).values()]


def errors_by_fold(results: dict, score: str) -> dict[str, float]:
    """Like `errors`, by fold."""
    tests = {
        fold: run["evaluation"]["test"]
        for fold, run in results["folds"].items()
    }
    return {
        fold: 100 * test[score]["equal_error_rate"]
        for fold, test in tests.items()
        if score in test
    }


def differences(found: dict[int, dict]) -> list[str]:
    """Returns a table of the recipe's depth minus each other depth, by fold."""
    if OWN not in found:
        return []
    ours = errors_by_fold(found[OWN], "learned_distance")
    others = {
        "triplet loss by cosine" if not depth else _layers(depth): (
            errors_by_fold(results, "learned_distance" if depth else "cosine")
        )
        for depth, results in sorted(found.items())
        if depth != OWN
    }
    return difference_table(
        f"{_layers(OWN)} by the distance",
        ["EER, points"],
        {name: [(ours, theirs)] for name, theirs in others.items()},
        ratio_of_test_to_train(found[OWN]["config"]),
        2,
    )


def _layers(depth: int) -> str:
    return f"{depth} hidden layer{'s' * (depth > 1)}"


def table(found: dict[int, dict]) -> str:
    """Returns the Markdown between the marks."""
    if not found:
        return ""
    any_results = next(iter(found.values()))
    dataset = any_results["config"]["dataset"]
    lines = [
        "",
        "### Hidden layers of the distance",
        "",
        f"EER in % on `{dataset}`, folds {', '.join(any_results['folds'])}, "
        "layers of 256 units.",
        "",
        "| hidden layers | learned distance | cosine | commit |",
        "|---|---:|---:|---|",
    ]
    for depth, results in sorted(found.items()):
        cells = []
        for score in SCORES:
            values = errors(results, score)
            error = standard_error(values) if values else None
            text = f"{statistics.fmean(values):.2f}" if values else ""
            cells.append(text if error is None else f"{text} ± {error:.2f}")
        training = [run["training"] for run in results["folds"].values()]
        commits = sorted({t["commit"][:7] for t in training})
        lines.append(
            f"| {depth or 'triplet loss'} | {' | '.join(cells)} | "
            f"{' '.join(commits)} |"
        )
    lines += differences(found)
    commands = {
        f"hidden layers: {depth}" if depth else "triplet loss": rerun_command(
            results["recipe"],
            results["config"],
            f"runs/depth_{depth}",
            folds=list(results["folds"]),
        )
        for depth, results in sorted(found.items())
    }
    lines += command_lines(commands)
    return "\n".join([*lines, "", f"![EER](../figures/{FIGURE}.png)"])


def figure(found: dict[int, dict]):
    """Plots EER by depth, with errors over folds; dashed: triplet loss."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(6, 4.2), layout="constrained")
    axes = drawn.subplots()
    depths = sorted(depth for depth in found if depth)
    for index, (score, name) in enumerate(SCORES.items()):
        values = [errors(found[depth], score) for depth in depths]
        bars = [standard_error(v) for v in values]
        axes.errorbar(
            depths,
            [statistics.fmean(v) for v in values],
            None if None in bars else bars,
            color=f"C{index}",
            marker="os"[index],
            capsize=4,
            label=name,
        )
    if 0 in found:
        baseline = statistics.fmean(errors(found[0], "cosine"))
        axes.axhline(
            baseline, color="black", linestyle="--", label="triplet, cosine"
        )
    axes.set(
        xlabel="hidden layers; bars: standard error over folds",
        ylabel="equal error rate, %",
    )
    axes.set_xticks(depths)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
    return drawn


def figures(found: dict) -> dict:
    """Returns the figure by its file name, if there are results."""
    return {FIGURE: figure(found)} if any(found) else {}


def main() -> None:
    remake_page(__doc__, collect, load, PAGE, (BEGIN, END), table, figures)


if __name__ == "__main__":
    main()
