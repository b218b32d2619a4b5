"""Writes the table of unknown inputs in `docs/results/prototypes.md`.

    python -m tools.out_of_distribution_table [FOLDER ...]

A FOLDER is a workdir that was also evaluated with
`--config.evaluation.name=out_of_distribution`. The script first copies these
numbers to `benchmarks/results/out_of_distribution`. The name of a file contains
what the run changed, its splits and its unknown inputs, so one run can have
several evaluations. It then makes the table from these files only.
"""

import functools
import pathlib
import shlex

from tools.generated_text import NOT_RUN
from tools.generated_text import ROOT
from tools.generated_text import commits
from tools.generated_text import hardware
from tools.generated_text import remake_page
from tools.keep_result import keep_result
from tools.keep_result import results_of
from tools.rerun_command import command_lines
from tools.rerun_command import rerun_command
from tools.run_files import run_config
from tools.run_files import run_results
from tools.uncertainty_table import SAID
from trainers.measures.unknown_scores import auroc_text
from trainers.workdirs.overrides import overrides

RESULTS = ROOT / "benchmarks" / "results" / "out_of_distribution"
PAGE = ROOT / "docs" / "results" / "prototypes.md"
BEGIN, END = (
    "<!-- out of distribution: begin -->",
    "<!-- out of distribution: end -->",
)
SECTION = "evaluation_out_of_distribution"
SCORES = {
    "predicted_variance": "predicted variance",
    "head_uncertainty": "uncertainty of the head",
    "posterior_entropy": "posterior entropy",
    "log_evidence": "density under the prototypes",
    "nearest_distance": "nearest distance",
}
# Fields that do not change the name of a training, or that have another place.
UNNAMED = ("seed", "num_epochs", "optimizer.learning_rate.decay_steps")
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
load = functools.partial(results_of, RESULTS)


def collect(workdir: pathlib.Path, replace: bool = False) -> None:
    """Copies a run's numbers into the repository."""
    results = run_results(workdir)
    config = run_config(workdir)
    if SECTION not in results:
        raise ValueError(
            f"{workdir}/results.json must have the section {SECTION!r}; "
            f"received {', '.join(results)}. Evaluate the run with "
            "--config.evaluation.name=out_of_distribution"
        )
    kept = {
        "recipe": results["recipe"],
        "seed": results["seed"],
        "config": config,
        "training": results["training"],
        SECTION: results[SECTION],
    }
    name = "_".join([trained_name(kept), *evaluated_name(kept)])
    keep_result(RESULTS / f"{name}.json", kept, replace=replace)


def trained_name(run: dict) -> str:
    """Names a training by recipe, seed, length and changed fields."""
    words = [run["recipe"], f"seed_{run['seed']}", f"{_steps(run)}"]
    return "_".join([*words, *_changed(run)])


def _steps(run: dict) -> int:
    return run["config"]["num_epochs"] * run["config"]["steps_per_epoch"]


def _changed(run: dict) -> list[str]:
    """Returns `field=value` for each changed field of the training."""
    return [
        SAID.get((name, f"{value}")) or f"{name.rpartition('.')[2]}={value}"
        for name, value in overrides(run["recipe"], run["config"]).items()
        if name not in UNNAMED and not name.startswith("evaluation.")
    ]


def evaluated_name(run: dict) -> list[str]:
    """Names an evaluation by its splits, groups and other data sets."""
    settings = run[SECTION]["settings"]
    words = ["+".join(settings["splits"])]
    if settings["group"]:
        words.append(f"group={settings['group']}")
    # A folder or a file of the user's has a path.
    others = [pathlib.PurePath(name).name for name, _ in settings["others"]]
    return words + [f"others={'+'.join(others)}"] * bool(others)


def table(results: list[dict]) -> str:
    """Returns the Markdown between the marks."""
    if not results:
        return NOT_RUN
    lines = [
        "| recipe, episodes, seed | split | unknown inputs "
        f"| {' | '.join(SCORES.values())} |",
        "|---|---|---|" + "---:|" * len(SCORES),
    ]
    for run in results:
        recipe = " ".join([run["recipe"], *_changed(run)])
        name = f"`{recipe}`, {_steps(run):,}, {run['seed']}"
        for split in run[SECTION]["settings"]["splits"]:
            for kind, found in run[SECTION][split].items():
                cells = " | ".join(_cell(found.get(score)) for score in SCORES)
                lines.append(f"| {name} | {split} | {kind} | {cells} |")
    measured = [run[SECTION] for run in results]
    lines += [
        "",
        "AUROC ± 95 % interval over episodes (FPR at 95 % TPR in %). Commit "
        f"{commits(measured)}; {hardware(measured)}.",
    ]
    commands = {
        " ".join([trained_name(run), *evaluated_name(run)]): command(run)
        for run in results
    }
    return "\n".join([*lines, *command_lines(commands)])


def _cell(found: dict | None) -> str:
    if found is None:
        return ""
    return f"{auroc_text(found)} ({100 * found['fpr_at_95_tpr']:.0f})"


def command(run: dict) -> str:
    """Trains, evaluates, and evaluates unknown inputs."""
    folder = f"runs/{trained_name(run)}"
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
            text = str(value).replace("'", '"')  # as the shell quotes by '
            words.append(f"--config.evaluation.{name}={text}")
    trained = rerun_command(run["recipe"], run["config"], folder)
    return f"{trained} && {shlex.join(words)}"


def main() -> None:
    remake_page(__doc__, collect, load, PAGE, (BEGIN, END), table)


if __name__ == "__main__":
    main()
