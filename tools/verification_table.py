"""Tables and figures of verification runs, from their result files.

    python -m tools.verification_table [FOLDER ...]

A folder holds the runs of one recipe with one seed, each an evaluated workdir:
those of `trainers.cross_validate` (`fold_0`, `fold_1`, ...), and any trained by
itself, such as `official`, the data set's own split. Their numbers are first
copied into `benchmarks/results/verification`; the tables in `docs/results`
and the figures in `docs/figures` are then made from that folder alone.
"""

import collections
import json
import pathlib
import statistics

from tools.cross_validation_table import FIGURES
from tools.generated_text import collect_folders
from tools.generated_text import hardware
from tools.generated_text import write_between
from tools.keep_result import keep_result
from tools.n_digit_table import ROOT
from tools.rerun_command import command_lines
from tools.rerun_command import rerun_command
from trainers.cross_validate import standard_error

RESULTS = ROOT / "benchmarks" / "results" / "verification"
PAGE = ROOT / "docs" / "results" / "verification.md"
BEGIN, END = "<!-- verification: begin -->", "<!-- verification: end -->"
METHODS = {
    "learned_distance": "learned distance",
    "learned_distance_without_auxiliary": "learned distance, no classifier",
    "triplet": "triplet",
    "unseen_digits_learned_distance": "learned distance",
    "unseen_digits_triplet": "triplet",
    "unseen_digits_fine_tuned": "learned distance, Omniglot before",
    "speakers": "learned distance",
}
SCORES = {
    "learned_distance": "learned distance",
    "cosine": "cosine",
    "fused": "learned distance and cosine",
    "plda": "PLDA",
}
DATASETS = {
    "an4": "AN4, speakers",
    "spoken_digit": "Free Spoken Digit, words of an unseen speaker",
    "mnist": "MNIST, digits never trained on",
}
FOLDS = "folds"
# Recipes of another task than that of the data set's others.
TASKS = {
    "mnist_learned_distance": "MNIST in a plane, digits of the training",
    "spoken_digit_speakers": "Free Spoken Digit, speakers of the training "
    "on other words (with five, to see that it works)",
}


def collect(folder: pathlib.Path, replace: bool = False) -> None:
    """Keeps the numbers of a recipe's runs in the repository."""
    runs = {}
    for workdir in sorted(folder.iterdir()):
        if not (workdir / "results.json").is_file():
            continue
        results = json.loads((workdir / "results.json").read_text())
        if "evaluation" not in results:
            continue
        config = json.loads((workdir / "config.json").read_text())["config"]
        runs[workdir.name] = {
            "config": config,
            "training": results["training"],
            "evaluation": results["evaluation"],
        }
        recipe = results["recipe"]
    if not runs:
        raise SystemExit(f"{folder} holds no evaluated run")
    seeds = {run["config"]["seed"] for run in runs.values()}
    if len(seeds) > 1:
        raise SystemExit(f"{folder} mixes the seeds {sorted(seeds)}")
    seed = seeds.pop()
    keep_result(
        RESULTS / f"{recipe}-seed_{seed}.json",
        {"recipe": recipe, "seed": seed, "runs": runs},
        replace=replace,
    )


def load() -> dict[tuple[str, str, str], dict]:
    """Runs by (data set, protocol, recipe), (name, seed).

    The protocol is "folds", or the name of the run, or of another task.
    """
    found = collections.defaultdict(dict)
    for path in sorted(RESULTS.glob("*.json")):
        results = json.loads(path.read_text())
        for name, run in results["runs"].items():
            protocol = FOLDS if name.startswith("fold_") else name
            protocol = TASKS.get(results["recipe"], protocol)
            key = run["config"]["dataset"], protocol, results["recipe"]
            found[key][name, results["seed"]] = run
    return dict(found)


def rows(found: dict, dataset: str, protocol: str) -> dict:
    """`{(method, score): {(run, seed): measures}}`, as the table has them."""
    table = {}
    for key, runs in found.items():
        if key[:2] != (dataset, protocol):
            continue
        method = _method(key[2])
        for score in SCORES:
            measures = {
                name: _test(run)[score]
                for name, run in runs.items()
                if score in _test(run)
            }
            if measures:
                table[method, SCORES[score]] = measures
    order = [*METHODS.values()]
    return dict(sorted(table.items(), key=lambda row: order.index(row[0][0])))


def _test(run: dict) -> dict:
    """What was found on the test split, or on the part of it that was used."""
    (split,) = run["config"]["evaluation"]["splits"]
    return run["evaluation"][split]


def _span(numbers) -> str:
    """From the smallest to the largest, once if they are one."""
    numbers = list(numbers)
    ends = dict.fromkeys([min(numbers), max(numbers)])
    return " to ".join(f"{n:,}" for n in ends)


def _method(recipe: str) -> str:
    """What the longest of the names says that a recipe's name ends in."""
    ends = [name for name in METHODS if recipe.endswith(f"_{name}")]
    return METHODS[max(ends, key=len)]


def by_run(measures: dict, name: str) -> list[float]:
    """A measure of each fold (or split), the mean over its seeds."""
    of_run = collections.defaultdict(list)
    for (run, _), found in measures.items():
        of_run[run].append(found[name])
    return [statistics.fmean(values) for values in of_run.values()]


def by_seed(measures: dict, name: str) -> list[float]:
    """A measure of each seed, the mean over its folds."""
    of_seed = collections.defaultdict(list)
    for (_, seed), found in measures.items():
        of_seed[seed].append(found[name])
    return [statistics.fmean(values) for values in of_seed.values()]


def _per_cent(numbers: list[float], error: float | None = None) -> str:
    text = f"{100 * statistics.fmean(numbers):.2f}"
    return text if error is None else f"{text} ± {100 * error:.2f}"


def _table(measured: dict, runs: dict) -> list[str]:
    lines = [
        "| trained with | scored by | runs | EER, % | of each seed | 95 % "
        "| 1 - AUC, % | minDCF |",
        "|---|---|---|---:|---|---|---:|---:|",
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
        )
    training = [run["training"] for run in runs.values()]
    tests = [_test(run) for run in runs.values()]
    minutes = [t["seconds"] / 60 for t in training]
    lines += [
        "",
        f"{_span(t['trials'] for t in tests)} trials a run, of "
        f"{_span(t['classes'] for t in tests)} classes; "
        f"{training[0]['steps']} batches at most, "
        f"{_span(round(m, 1) for m in minutes)} minutes. Commits "
        + ", ".join(sorted({t["commit"][:7] for t in training}))
        + f"; {hardware(training)}.",
        *command_lines(_commands(runs)),
    ]
    return lines


def _commands(runs: dict) -> dict[str, str]:
    """By recipe and seed; the folds of a cross-validation in one command."""
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


def table(found: dict) -> str:
    """The markdown between the markers."""
    parts = []
    for dataset in DATASETS:
        protocols = dict.fromkeys(key[1] for key in found if key[0] == dataset)
        for protocol in protocols:
            measured = rows(found, dataset, protocol)
            runs = {
                (key, *name): run
                for key, of_recipe in found.items()
                if key[:2] == (dataset, protocol)
                for name, run in of_recipe.items()
            }
            parts += ["", f"### {_title(dataset, protocol)}", ""]
            parts += _table(measured, runs)
            if protocol not in TASKS.values():
                picture = f"{_file(dataset, protocol)}.png"
                parts += ["", f"![EER](../figures/{picture})"]
    return "\n".join(parts)


def _title(dataset: str, protocol: str) -> str:
    if protocol in TASKS.values():
        return protocol
    return DATASETS[dataset] + (
        "" if protocol == FOLDS else f", {protocol} split"
    )


def _file(dataset: str, protocol: str) -> str:
    return f"{dataset.replace('/', '_')}_{protocol.replace(' ', '_')}_eer"


def draw(found: dict) -> None:
    """EER of every row: each run a point, the mean over runs a line."""
    from trainers.quiet import import_tensorflow

    import_tensorflow()
    from embeddings_tf import viz

    FIGURES.mkdir(parents=True, exist_ok=True)
    for dataset, protocol in dict.fromkeys(key[:2] for key in found):
        if protocol in TASKS.values():
            continue
        figure = _figure(
            rows(found, dataset, protocol), _title(dataset, protocol)
        )
        viz.save_figure(figure, FIGURES / f"{_file(dataset, protocol)}.png")


def _figure(measured: dict, title: str):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1.2 + 0.3 * len(measured)))
    axes = figure.subplots()
    methods = list(dict.fromkeys(method for method, _ in measured))
    for place, ((method, _), measures) in enumerate(measured.items()):
        color = f"C{methods.index(method)}"
        eer = [100 * found["equal_error_rate"] for found in measures.values()]
        axes.plot(eer, [place] * len(eer), "o", color=color, alpha=0.35, ms=5)
        mean = statistics.fmean(eer)
        axes.vlines(mean, place - 0.35, place + 0.35, color=color, lw=3)
    axes.set_yticks(
        range(len(measured)),
        [f"{method}; by {score}" for method, score in measured],
    )
    axes.set(xlabel="equal error rate, %")
    figure.suptitle(title, fontsize="medium")
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.grid(axis="x", alpha=0.3)
    figure.text(0.01, 0.01, "a point: a run; a line: the mean", fontsize=7)
    figure.set_layout_engine("constrained")
    return figure


def main() -> None:
    collect_folders(__doc__, collect)
    found = load()
    write_between(PAGE, BEGIN, END, table(found))
    draw(found)
    print(f"wrote {PAGE.relative_to(ROOT)} and {FIGURES.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
