"""How many hidden layers a learned distance needs, from runs of each depth.

    python -m tools.distance_depth_table [FOLDER ...]

A folder is a workdir of `trainers.cross_validate`, of a recipe with one depth
of the distance; the table prints the command of each row. The folders' numbers
are first copied into `benchmarks/results/distance_depth`. The table in
`docs/results` and the figure in `docs/figures` are then made from that folder;
the recipe's own depth and the triplet loss are from the same folds and seed in
`benchmarks/results/verification`.
"""

import json
import pathlib
import statistics

from tools.generated_text import ROOT
from tools.generated_text import remake_page
from tools.keep_result import keep_result
from tools.rerun_command import command_lines
from tools.rerun_command import rerun_command
from tools.verification_results import RESULTS as VERIFICATION
from trainers.cross_validate import standard_error

RESULTS = ROOT / "benchmarks" / "results" / "distance_depth"
FIGURE = "distance_depth"
PAGE = ROOT / "docs" / "results" / "verification.md"
BEGIN, END = "<!-- distance depth: begin -->", "<!-- distance depth: end -->"
SCORES = {"learned_distance": "learned distance", "cosine": "cosine"}


def collect(folder: pathlib.Path, replace: bool = False) -> None:
    """Keeps the numbers of a cross-validation in the repository."""
    results = json.loads((folder / "results.json").read_text())
    config = json.loads((folder / "config.json").read_text())["config"]
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
    """Hidden layers of the distance; 0 for the baseline, without one."""
    if "objective" not in config:
        return 0
    return len(config["objective"]["distance"]["hidden_units"])


def load() -> dict[int, dict]:
    """Results by depth, 0 the baseline.

    Raises:
        SystemExit: If they are of several data sets or folds.
    """
    every = [json.loads(p.read_text()) for p in sorted(RESULTS.glob("*.json"))]
    kinds = {(r["config"]["dataset"], *r["folds"]) for r in every}
    if len(kinds) > 1:
        raise SystemExit(
            f"{RESULTS} mixes data sets or folds, {sorted(kinds)}; remove "
            "those that are not to be compared"
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
    """EER of each fold, in per cent; none of a score that is not there."""
    tests = [run["evaluation"]["test"] for run in results["folds"].values()]
    return [100 * t[score]["equal_error_rate"] for t in tests if score in t]


def table(found: dict[int, dict]) -> str:
    """The markdown between the markers."""
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
    """EER against depth, with standard errors over folds; dashed: triplet."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(6, 4.2), layout="constrained")
    axes = drawn.subplots()
    depths = sorted(depth for depth in found if depth)
    for index, (score, name) in enumerate(SCORES.items()):
        values = [errors(found[depth], score) for depth in depths]
        axes.errorbar(
            depths,
            [statistics.fmean(v) for v in values],
            [standard_error(v) or 0.0 for v in values],
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
    axes.set(xlabel="hidden layers", ylabel="equal error rate, %")
    axes.set_xticks(depths)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()
    return drawn


def figures(found: dict) -> dict:
    """The figure by the name of its file, once there is a result."""
    return {FIGURE: figure(found)} if any(found) else {}


def main() -> None:
    remake_page(__doc__, collect, load, PAGE, (BEGIN, END), table, figures)


if __name__ == "__main__":
    main()
