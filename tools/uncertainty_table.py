"""Writes the table of `docs/results/uncertainty.md` from the result files.

    python -m tools.uncertainty_table [FOLDER ...]

A FOLDER is a workdir. The script first copies its numbers to
`benchmarks/results/uncertainty`. It then makes the table from these files only.
"""

import functools
import json
import pathlib

from tools import damage_figure
from tools.generated_text import hardware
from tools.generated_text import remake_page
from tools.keep_result import keep_result
from tools.keep_result import results_of
from tools.rerun_command import command_lines
from tools.rerun_command import own_fields
from tools.rerun_command import rerun_command
from tools.run_files import run_recipe_and_config
from tools.run_files import run_results
from trainers.config import load_recipe
from trainers.config.flat import flat
from trainers.measures.rank_correlation import rank_correlation
from trainers.recipes.uncertainty import RECIPES
from trainers.workdirs import layout
from trainers.workdirs.overrides import overrides
from trainers.workdirs.workdir import recipe_fields

ROOT = pathlib.Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "uncertainty"
PAGE = ROOT / "docs" / "results" / "uncertainty.md"
BEGIN, END = (
    "<!-- uncertainty table: begin -->",
    "<!-- uncertainty table: end -->",
)
# Names of data sets in the table; another folder of images has its own name.
DATA = {
    "omniglot_rotations": "Omniglot",
    "tiny": "Tiny ImageNet",
    "tiny_imagenet_32": "Tiny ImageNet",
}
# Changed fields that do not name a run: they have a column of their own, or
# choose the epoch and the evaluation. A run that differs only in these is
# refused as another value of the same file.
UNNAMED = (
    "seed",
    "num_epochs",
    "dataset",
    "images.",
    "monitor",
    "patience",
    "validation.",
    "evaluation.",
)
# An objective of the study replaces the recipe's, with a seed of its own.
OWN_OBJECTIVE = ("objective.name", "objective.seed")
# Changes with a name that says more than the value.
SAID = {
    ("uncertainty.name", ""): "without_head",
    ("uncertainty.novelty_weight", "0.0"): "without_penalty",
}
SOURCES = {"head": "head", "variance": "predicted variance"}
# Condition, measure, and its aim: at least this value.
AIMS = (
    ("corrupt", "rank_correlation", 0.5),
    ("blur", "rank_correlation", 0.3),
    ("noise", "rank_correlation", 0.3),
    ("clean", "recall_auroc", 0.62),
    ("corrupt", "recall_auroc", 0.68),
)
# Losses of `tools.loss_rank_study`, in files of the same names.
LOSSES = ROOT / "benchmarks" / "results" / "loss_ranks"
# Runs of the figure: the ending of their recipes, and their steps.
DRAWN = "_dim_64_stochastic_prototypes", 1500
HEAD = (
    "| data | dim | setting | uncertainty | rank: rectangle | occlusion "
    "| blur | noise | R-AUROC: clean | rectangle | aims met | AURC: clean "
    "| share | variation |\n|---|---:|---|---|" + "---:|" * 10
)
load = functools.partial(results_of, RESULTS)


def collect(workdir: pathlib.Path, replace: bool = False) -> None:
    """Copies a run's numbers into the repository."""
    results = run_results(workdir)
    results |= run_of(workdir)
    # The evaluation may have had other settings than the training.
    settings = results["evaluation"]["settings"]
    results["config"]["evaluation"] |= {
        name: settings[name] for name in results["config"]["evaluation"]
    }
    keep_result(RESULTS / f"{name_of(results)}.json", results, replace=replace)


def run_of(workdir: pathlib.Path) -> dict:
    """Returns recipe and config of a run, without places on a machine.

    The run whose weights it started from is its `initial_run`.

    Raises:
        ValueError: If the run started from a file.
    """
    found = run_recipe_and_config(workdir)
    config = found["config"]
    kind, is_folder, folder = config["dataset"].partition(":")
    if is_folder:
        config["dataset"] = f"{kind}:{pathlib.Path(folder).name}"
    run = {"recipe": found["recipe"], "config": config}
    if config.get("initial_weights"):
        start = pathlib.Path(config["initial_weights"])
        if not (start / "config.json").is_file():
            raise ValueError(
                f"{workdir} started from config.initial_weights={start}; "
                "expected a workdir that exists, seen from this folder, so "
                "that the page can print its command"
            )
        run["initial_run"] = run_of(start)
        if (start / layout.FOLDS).is_file():
            run["initial_run"]["cross_validated"] = True
        config["initial_weights"] = f"runs/{start.name}"
    return run


def name_of(run: dict) -> str:
    """Returns the name of a result file."""
    config = run["config"]
    steps = config["num_epochs"] * config["steps_per_epoch"]
    words = [run["recipe"], "seed", str(config["seed"]), str(steps)]
    folder = config["dataset"].partition(":")[2]
    if folder not in ("", *DATA):
        words.append(f"dataset={folder}")
    return "_".join([*words, *settings_of(run)])


def settings_of(run: dict) -> list[str]:
    """Returns `field=value` for each changed field that names a run.

    Some have another name, in SAID.
    """
    recipe, config = run["recipe"], run["config"]
    fields = flat(recipe_fields(load_recipe(recipe)))
    changed = {
        name: value
        for name, value in overrides(recipe, config).items()
        if not name.startswith(UNNAMED)
        and name not in OWN_OBJECTIVE
        and not _is_usual(name, value, config)
    } | own_fields(recipe, config)
    return [
        SAID.get((name, _text(value)))
        or f"{_short(name, fields)}={_text(value)}"
        for name, value in changed.items()
    ]


def _is_usual(name: str, value, config: dict) -> bool:
    """Whether the learning rate falls until the last step."""
    steps = config["num_epochs"] * config["steps_per_epoch"]
    return name == "optimizer.learning_rate.decay_steps" and value == steps


def _short(name: str, fields) -> str:
    """The last part of a field's name, if it names one thing."""
    last = name.rpartition(".")[2]
    sharing = {
        other
        for other in fields
        if other.rpartition(".")[2] == last and not other.startswith(UNNAMED)
    }
    # Episodes and method must have the same number of supports.
    return last if len(sharing) < 2 or last == "num_support" else name


def _text(value) -> str:
    """A value that can be a part of a file name."""
    if isinstance(value, list | tuple):
        return "+".join(map(_text, value))
    return (
        pathlib.PurePath(value).name if isinstance(value, str) else f"{value}"
    )


def table(results: list[dict]) -> str:
    """Returns the Markdown between the marks, from results with configs."""
    results = sorted(results, key=_place)
    lines = [
        "| data | dim | setting | minutes | examples | classes | recall@1 | "
        "5-shot (Omniglot: 1-shot) of 20 | commit |",
        "|---|---:|---|" + "---:|" * 6,
    ]
    for run in results:
        test = run["evaluation"]["test"]
        lines.append(
            f"| {row_name(run)} | {run['training']['seconds'] / 60:.0f} | "
            f"{test['examples']:,} | {test['classes']:,} | "
            f"{100 * test['clean']['recall_at_1']:.1f} % | "
            f"{100 * test['clean']['few_shot_accuracy']:.1f} % | "
            f"{run['training']['commit'][:7]} |"
        )
    lines += ["", HEAD]
    lines += [
        _row(run, source)
        for run in results
        for source in SOURCES
        if source in run["evaluation"]["test"]["clean"]
    ]
    lines += ["", _aims_text(results), "", *_not_run(results)]
    lines += ["", *_costly_damage(results)]
    if results:
        training = [run["training"] for run in results]
        lines += [
            "",
            "Seed 0, unless the setting names another. Hardware: "
            f"{hardware(training)}.",
        ]
    commands = {
        row_name(run).replace(" | ", ", "): rerun_command(
            run["recipe"],
            run["config"],
            f"runs/uncertainty_{number}",
            initial_run=run.get("initial_run"),
        )
        for number, run in enumerate(results)
    }
    return "\n".join([*lines, *command_lines(commands)])


def _costly_damage(results: list[dict]) -> list[str]:
    """Compares the accuracy that damage costs with how an uncertainty sees it.

    Over the kinds of damage of the training, for the runs that contain each.
    """
    from embeddings_tf.datasets.degrade_randomly import TRAINED_KINDS

    lines = [
        "Does an uncertainty rise with the damage that costs accuracy? Each "
        f"of the {len(TRAINED_KINDS)} kinds of damage in training costs "
        "accuracy, and has a rank correlation with the uncertainty. The "
        "columns have Spearman's correlation of both, over the kinds:",
        "",
        "| data | dim | setting | uncertainty | recall@1 | few-shot |",
        "|---|---:|---|---|---:|---:|",
    ]
    for run in results:
        test = run["evaluation"]["test"]
        if not set(TRAINED_KINDS) <= set(test):
            continue
        for source in SOURCES:
            if source not in test["clean"]:
                continue
            ranks = [test[k][source]["rank_correlation"] for k in TRAINED_KINDS]
            cells = [
                _number(
                    rank_correlation(
                        [test["clean"][m] - test[k][m] for k in TRAINED_KINDS],
                        ranks,
                    )
                )
                for m in ("recall_at_1", "few_shot_accuracy")
            ]
            lines.append(
                f"| {row_name(run)} | {SOURCES[source]} | {' | '.join(cells)} |"
            )
    return lines


def _place(run: dict) -> tuple:
    dim = run["config"]["encoder"]["dim"]
    return run["recipe"].split("_dim_")[0], dim, run["recipe"], run["seed"]


def row_name(run: dict) -> str:
    """Names data, dimensions and setting of a run, the first three cells."""
    dim, _, method = run["recipe"].partition("_dim_")[2].partition("_")
    kind, _, folder = run["config"]["dataset"].partition(":")
    data = folder or kind
    setting = [
        method.replace("_", " "),
        f"{run['training']['steps']:,} steps",
        *settings_of(run),
        *([f"seed {run['seed']}"] if run["seed"] else []),
    ]
    return f"{DATA.get(data, data)} | {dim} | {', '.join(setting)}"


def _row(run: dict, source: str) -> str:
    test = run["evaluation"]["test"]
    cells = []
    for condition, measure, aim in AIMS:
        value = test[condition][source][measure]
        missed = "" if _is_met(value, aim) else ", missed"
        cells.append(_number(value) + missed)
    # A rectangle over any share of the image; no aim.
    any_share = test.get("occlusion", {}).get(source, {})
    cells.insert(1, _number(any_share.get("rank_correlation")))
    cells.append(f"{len(met(run, source))} of {len(AIMS)}")
    cells += [
        _number(test["clean"][source]["area_under_risk_coverage"]),
        f"{test['variance_share']:.3f}" if source == "variance" else "",
        _number(test["clean"][source]["variation"]),
    ]
    return f"| {row_name(run)} | {SOURCES[source]} | {' | '.join(cells)} |"


def met(run: dict, source: str) -> list[tuple]:
    """Returns the entries of AIMS that an uncertainty of a run meets."""
    test = run["evaluation"]["test"]
    return [
        (condition, measure, aim)
        for condition, measure, aim in AIMS
        if _is_met(test[condition][source][measure], aim)
    ]


def _is_met(value: float | None, aim: float) -> bool:
    return value is not None and value >= aim


def _aims_text(results: list[dict]) -> str:
    """Says how many aims the best uncertainty of each data set meets."""
    best: dict[str, int] = {}
    for run in results:
        data = row_name(run).partition(" | ")[0]
        for source in SOURCES:
            if source in run["evaluation"]["test"]["clean"]:
                count = len(met(run, source))
                best[data] = max(best.get(data, 0), count)
    found = "; ".join(f"{data} {count}" for data, count in best.items())
    rank, unseen, _, clean, hidden = (aim for *_, aim in AIMS)
    return (
        f"Aims, at least: rank correlation {rank:g} with hidden pixels, and "
        f"{unseen:g} with blur and noise; R-AUROC {clean:g} on clean and "
        f"{hidden:g} on occluded images. Most aims of {len(AIMS)} that one "
        f"uncertainty of one run meets: {found or 'nothing was run'}."
    )


def _not_run(results: list[dict]) -> list[str]:
    """Lists the recipes without a result file."""
    run = {result["recipe"] for result in results}
    names = [f"`{name}`" for name in RECIPES if name not in run]
    return [f"Recipes that were not run: {', '.join(names)}."] if names else []


def _number(value: float | None) -> str:
    """Three digits, as many as the aims need; a dash for an undefined one."""
    return "-" if value is None else f"{value:.3f}"


def figures(results: list[dict]) -> dict:
    """Returns the figure by the name of its file; none without its runs.

    It needs the losses of `tools.loss_rank_study` of the same runs.
    """
    from embeddings_tf.datasets.degrade import KINDS
    from embeddings_tf.datasets.degrade_randomly import TRAINED_KINDS

    panels: dict[str, dict] = {}
    ending, steps = DRAWN
    for run in results:
        if not run["recipe"].endswith(ending):
            continue
        if run["training"]["steps"] == steps:
            data = row_name(run).partition(" | ")[0]
            setting = " ".join(settings_of(run))
            panels.setdefault(data, {}).setdefault(setting, []).append(run)
    panels = {
        f"{data}, 64 dimensions, {len(runs[''])} seeds": {
            "head": (runs[""], "head"),
            "loss itself": (with_losses(runs[""]), "loss"),
            "head without the penalty": (runs["without_penalty"], "head"),
            "predicted variance": (runs[""], "variance"),
        }
        for data, runs in panels.items()
        if "" in runs and "without_penalty" in runs and with_losses(runs[""])
    }
    unseen = tuple(kind for kind in KINDS if kind not in TRAINED_KINDS)
    if not panels:
        return {}
    return {"uncertainty_damage": damage_figure.figure(panels, unseen)}


def with_losses(runs: list[dict]) -> list[dict]:
    """Returns the runs whose losses were measured, with these as a source."""
    found = []
    for run in runs:
        path = LOSSES / f"{name_of(run)}.json"
        if not path.is_file():
            continue
        test = run["evaluation"]["test"]
        kinds = {"clean": {**test["clean"], "loss": {}}}
        for kind, ranks in json.loads(path.read_text())["study"][
            "kinds"
        ].items():
            loss = {"rank_correlation": ranks["loss"]}
            kinds[kind] = {**test[kind], "loss": loss}
        found.append({**run, "evaluation": {"test": kinds}})
    return found


def main() -> None:
    remake_page(__doc__, collect, load, PAGE, (BEGIN, END), table, figures)


if __name__ == "__main__":
    main()
