"""Writes the table of `docs/uncertainty.md` from the result files.

    python -m tools.uncertainty_table [FOLDER ...]

A FOLDER is a workdir. The script first copies its numbers to
`benchmarks/results/uncertainty`. It then makes the table from these files only.
"""

import json
import pathlib

from tools.generated_text import hardware
from tools.generated_text import remake_page
from tools.keep_result import keep_result
from tools.keep_result import kept_results
from tools.rerun_command import command_lines
from tools.rerun_command import overrides
from tools.rerun_command import rerun_command
from trainers.config import load_recipe
from trainers.workdir import recipe_fields

ROOT = pathlib.Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "uncertainty"
PAGE = ROOT / "docs" / "uncertainty.md"
BEGIN, END = (
    "<!-- uncertainty table: begin -->",
    "<!-- uncertainty table: end -->",
)
DATA = {"omniglot": "Omniglot", "image_folder": "Tiny ImageNet"}
# Names of folders of images, by the name they had when a run read them.
FOLDERS = {
    "tiny": "tiny_imagenet_32",
    "tiny_imagenet_32": "tiny_imagenet_32",
}
# Fields that studies change; the number of steps has a column of its own.
STUDIED = ("batches.", "objective.", "loss.", "initial_weights", "freeze")
# An objective of the study replaces the recipe's, with a seed of its own.
OWN_OBJECTIVE = ("objective.name", "objective.seed")
SOURCES = {"head": "head", "variance": "predicted variance"}
HEAD = (
    """\
| data | dim | setting | uncertainty | rank: rectangle | blur | noise | \
R-AUROC: clean | rectangle | AURC: clean | share | variation |
|---|---:|---|---|"""
    + "---:|" * 8
)


def collect(workdir: pathlib.Path, replace: bool = False) -> None:
    """Copies a run's numbers into the repository."""
    results = json.loads((workdir / "results.json").read_text())
    config = results["config"]
    kind, is_folder, folder = config["dataset"].partition(":")
    if is_folder:  # its name, not its place on one machine
        config["dataset"] = f"{kind}:{FOLDERS[pathlib.Path(folder).name]}"
    # The evaluation may have had other settings than the training.
    settings = results["evaluation"]["settings"]
    config["evaluation"] |= {
        name: settings[name] for name in config["evaluation"]
    }
    steps = config["num_epochs"] * config["steps_per_epoch"]
    name = f"{results['recipe']}_seed_{results['seed']}_{steps}"
    others = "".join(f"_{setting}" for setting in settings_of(results))
    keep_result(RESULTS / f"{name}{others}.json", results, replace=replace)


def settings_of(run: dict) -> list[str]:
    """Returns `field=value` for changed fields that name a run of a study."""
    differing = overrides(run["recipe"], run["config"])
    changed = {
        name.rpartition(".")[2]: value
        for name, value in differing.items()
        if name.startswith(STUDIED) and name not in OWN_OBJECTIVE
    }
    return [f"{name}={v}" for name, v in (changed | own_fields(run)).items()]


def own_fields(run: dict) -> dict:
    """Returns arguments of the objective that the recipe's does not have."""
    ours = recipe_fields(load_recipe(run["recipe"])).get("objective", {})
    theirs = run["config"].get("objective", {})
    return {name: theirs[name] for name in theirs if name not in ours}


def _command(run: dict, folder: str) -> str:
    """The command of a run, with the arguments of an own objective."""
    command = rerun_command(run["recipe"], run["config"], folder)
    words = [f"--config.objective.{n}={v}" for n, v in own_fields(run).items()]
    return command.replace(
        " --workdir", "".join(f" {w}" for w in words) + " --workdir", 1
    )


def table(results: list[dict]) -> str:
    """Returns the Markdown between the marks, from results with configs."""
    results = sorted(results, key=_place)
    lines = [
        "| data | dim | setting | minutes | examples | classes | recall@1 | "
        "5-shot (Omniglot: 1-shot) of 20 |",
        "|---|---:|---|" + "---:|" * 5,
    ]
    for run in results:
        test = run["evaluation"]["test"]
        lines.append(
            f"| {_name(run)} | {run['training']['seconds'] / 60:.0f} | "
            f"{test['examples']:,} | {test['classes']:,} | "
            f"{100 * test['clean']['recall_at_1']:.1f} % | "
            f"{100 * test['clean']['few_shot_accuracy']:.1f} % |"
        )
    lines += ["", HEAD]
    lines += [
        _row(run, source)
        for run in results
        for source in SOURCES
        if source in run["evaluation"]["test"]["clean"]
    ]
    if results:
        training = [run["training"] for run in results]
        lines += ["", f"Hardware: {hardware(training)}."]
    commands = {
        _name(run).replace(" | ", ", "): _command(
            run, f"runs/uncertainty_{number}"
        )
        for number, run in enumerate(results)
    }
    return "\n".join([*lines, *command_lines(commands)])


def _place(run: dict) -> tuple:
    dim = run["config"]["encoder"]["dim"]
    return run["recipe"].split("_dim_")[0], dim, run["recipe"], run["seed"]


def _name(run: dict) -> str:
    data, _, method = (
        run["recipe"].removeprefix("uncertainty_").partition("_dim_")
    )
    dim, _, method = method.partition("_")
    setting = [
        method.replace("_", " "),
        f"{run['training']['steps']:,} steps",
        *settings_of(run),
        *([f"seed {run['seed']}"] if run["seed"] else []),
    ]
    return f"{DATA[data]} | {dim} | {', '.join(setting)}"


def _row(run: dict, source: str) -> str:
    test = run["evaluation"]["test"]
    cells = [
        _number(test[damage][source]["rank_correlation"])
        for damage in ("corrupt", "blur", "noise")
    ]
    cells += [
        _number(test[condition][source]["recall_auroc"])
        for condition in ("clean", "corrupt")
    ]
    cells += [
        f"{test['clean'][source]['area_under_risk_coverage']:.2f}",
        f"{test['variance_share']:.3f}" if source == "variance" else "",
        _number(test["clean"][source]["variation"]),
    ]
    return f"| {_name(run)} | {SOURCES[source]} | {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    """Two digits; a dash for a measure that is undefined."""
    return "-" if value is None else f"{value:.2f}"


def load() -> list[dict]:
    """Returns the contents of all result files."""
    return [*kept_results(RESULTS).values()]


def main() -> None:
    remake_page(
        __doc__,
        collect,
        load,
        PAGE,
        (BEGIN, END),
        table,
    )


if __name__ == "__main__":
    main()
