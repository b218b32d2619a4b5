"""Writes the table of unknown inputs in `docs/results/prototypes.md`.

    python -m tools.out_of_distribution_table [FOLDER ...]

A FOLDER is a workdir that was also evaluated with
`--config.evaluation.name=out_of_distribution`. The script first copies these
numbers to `benchmarks/results/out_of_distribution`. It then makes the table
from these files only.
"""

import json
import pathlib
import shlex

from tools.generated_text import NOT_RUN
from tools.generated_text import ROOT
from tools.generated_text import hardware
from tools.generated_text import remake_page
from tools.keep_result import keep_result
from tools.keep_result import kept_results
from tools.rerun_command import command_lines
from tools.rerun_command import rerun_command
from trainers.evaluators.unknown_scores import auroc_text

RESULTS = ROOT / "benchmarks" / "results" / "out_of_distribution"
PAGE = ROOT / "docs" / "results" / "prototypes.md"
BEGIN, END = (
    "<!-- out of distribution: begin -->",
    "<!-- out of distribution: end -->",
)
SECTION = "evaluation_out_of_distribution"
SCORES = {
    "predicted_variance": "predicted variance",
    "posterior_entropy": "posterior entropy",
    "log_evidence": "density under the prototypes",
    "nearest_distance": "nearest distance",
}
# Settings that a command names.
NAMED = (
    "splits",
    "num_classes",
    "num_support",
    "num_query",
    "num_episodes",
    "group",
    "others",
)


def collect(workdir: pathlib.Path, replace: bool = False) -> None:
    """Copies a run's numbers into the repository."""
    results = json.loads((workdir / "results.json").read_text())
    config = json.loads((workdir / "config.json").read_text())["config"]
    if SECTION not in results:
        raise ValueError(
            f"{workdir}/results.json must have the section {SECTION!r}; "
            f"received {', '.join(results)}. Evaluate the run with "
            "--config.evaluation.name=out_of_distribution"
        )
    steps = config["num_epochs"] * config["steps_per_epoch"]
    name = f"{results['recipe']}_seed_{results['seed']}_{steps}.json"
    kept = {
        "recipe": results["recipe"],
        "seed": results["seed"],
        "config": config,
        "training": results["training"],
        SECTION: results[SECTION],
    }
    keep_result(RESULTS / name, kept, replace=replace)


def table(results: list[dict]) -> str:
    """Returns the Markdown between the marks."""
    if not results:
        return NOT_RUN
    lines = [
        f"| recipe, seed | unknown inputs | {' | '.join(SCORES.values())} |",
        "|---|---|" + "---:|" * len(SCORES),
    ]
    for run in results:
        (split,) = run[SECTION]["settings"]["splits"]
        for kind, found in run[SECTION][split].items():
            cells = " | ".join(_cell(found.get(score)) for score in SCORES)
            name = f"`{run['recipe']}`, {run['seed']}"
            lines.append(f"| {name} | {kind} | {cells} |")
    measured = [run[SECTION] for run in results]
    commits = sorted({found["commit"][:7] for found in measured})
    lines += [
        "",
        "AUROC ± 95 % interval over episodes (FPR at 95 % TPR in %). Commit "
        f"{' '.join(commits)}; {hardware(measured)}.",
    ]
    commands = {
        f"{run['recipe']}, {run['seed']}": _command(run) for run in results
    }
    return "\n".join([*lines, *command_lines(commands)])


def _cell(found: dict | None) -> str:
    if found is None:
        return ""
    return f"{auroc_text(found)} ({100 * found['fpr_at_95_tpr']:.0f})"


def _command(run: dict) -> str:
    """Trains, evaluates, and evaluates unknown inputs."""
    folder = f"runs/{run['recipe']}_{run['seed']}"
    settings = run[SECTION]["settings"]
    words = ["python", "-m", "trainers.evaluate", "--workdir", folder]
    words += ["--config.evaluation.name=out_of_distribution"]
    for name in NAMED:
        value = settings[name]
        if name == "others":
            value = tuple(tuple(pair) for pair in value)
        elif isinstance(value, list):
            value = tuple(value)
        if value or value == 0:
            words.append(f"--config.evaluation.{name}={value}")
    trained = rerun_command(run["recipe"], run["config"], folder)
    return f"{trained} && {shlex.join(words)}"


def load() -> list[dict]:
    """Returns the contents of all result files."""
    return [*kept_results(RESULTS).values()]


def main() -> None:
    remake_page(__doc__, collect, load, PAGE, (BEGIN, END), table)


if __name__ == "__main__":
    main()
