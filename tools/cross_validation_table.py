"""Tables and figures of the cross-validated runs, from their result files.

    python -m tools.cross_validation_table [FOLDER ...]

Workdirs of `trainers.cross_validate` given are first copied, as far as numbers
go, into `benchmarks/results/cross_validation`; the tables in `docs/results`
and the figures in `docs/figures` are then made from that folder alone.
"""

import json
import pathlib
import shutil
import statistics

from tools.generated_text import collect_folders
from tools.generated_text import hardware
from tools.generated_text import write_between
from tools.keep_result import keep_result
from tools.n_digit_table import ROOT
from tools.rerun_command import command_lines
from tools.rerun_command import rerun_command
from trainers.cross_validate import flat
from trainers.cross_validate import standard_error

RESULTS = ROOT / "benchmarks" / "results" / "cross_validation"
FIGURES = ROOT / "docs" / "figures"
PAGE = ROOT / "docs" / "results" / "sprites_and_omniglot.md"
BEGIN, END = (
    "<!-- cross-validation: begin -->",
    "<!-- cross-validation: end -->",
)
METHODS = {
    "sprites_f_statistic": "F-statistic",
    "sprites_triplet": "triplet",
    "sprites_histogram": "histogram",
    "sprites_f_statistic_long": "F-statistic, 16,000 batches",
    "sprites_f_statistic_dimension_dropout": "F-statistic, dimension dropout",
    "sprites_triplet_dimension_dropout": "triplet, dimension dropout",
    "sprites_histogram_dimension_dropout": "histogram, dimension dropout",
    "sprites_f_statistic_class_oracle": "F-statistic, class oracle",
    "sprites_beta_vae_1": "beta-VAE, beta = 1",
    "sprites_beta_vae_2": "beta-VAE, beta = 2",
    "sprites_beta_vae_4": "beta-VAE, beta = 4",
    "sprites_beta_vae_8": "beta-VAE, beta = 8",
}
LOSSES = {
    "f_statistic": "F-statistic",
    "histogram": "histogram",
    "triplet": "triplet",
    "binomial_deviance": "binomial deviance",
    "lifted_structure": "lifted structure",
    "learned_distance": "learned distance",
}
CLUSTERS = {
    "k_means": "k-means",
    "learned_distance_to_k_means": "learned distance to k-means centroids",
    "learned_distance_to_class_means": "learned distance to the class means",
}
# Of the first fold of these, what single dimensions mean; the docs show it.
DRAWN = {
    "sprites_f_statistic-sprites-weapon_visible": ("mutual_information",),
    "sprites_f_statistic_dimension_dropout-sprites-weapon_visible": (
        "mutual_information",
        "traversal",
    ),
    "sprites_triplet-sprites-weapon_visible": ("mutual_information",),
}
DISENTANGLING = {
    "sprites/weapon_visible": "Sprites, frames that show the weapon",
    "sprites/all_frames": "Sprites, all frames",
}
RETRIEVAL = {**DISENTANGLING, "omniglot": "Omniglot"}
MEASURES = {
    "modularity": "modularity",
    "explicitness": "explicitness",
    "single_dimension_auc": "single-dimension AUC",
}


def collect(workdir: pathlib.Path, replace: bool = False) -> None:
    """Keeps the numbers of a cross-validation in the repository."""
    results = json.loads((workdir / "results.json").read_text())
    config = json.loads((workdir / "config.json").read_text())["config"]
    for run in results["folds"].values():
        for found in run["evaluation"].values():
            if isinstance(found, dict):
                found.pop("mutual_information", None)  # drawn in the workdir
                found.pop("mutual_information_corrected", None)
    kept = {
        "recipe": results["recipe"],
        "dataset": config["dataset"],
        "config": config,
        "folds": results["folds"],
    }
    name = f"{kept['recipe']}-{kept['dataset'].replace('/', '-')}"
    if seed := config["seed"]:
        path = RESULTS / f"{name}-seed_{seed}.json"
        keep_result(path, kept, replace=replace)
        return
    keep_result(RESULTS / f"{name}.json", kept, replace=replace)
    run = workdir / f"fold_{next(iter(results['folds']))}"
    FIGURES.mkdir(parents=True, exist_ok=True)
    for picture in DRAWN.get(name, ()):
        shutil.copyfile(
            run / f"{picture}.png", FIGURES / f"{name}-{picture}.png"
        )


def load() -> dict[tuple[str, str], dict]:
    """Results by recipe and data set; the runs of a fold, whatever the seed."""
    found = {}
    for path in sorted(RESULTS.glob("*.json"), key=lambda path: path.stem):
        results = json.loads(path.read_text())
        kept = found.setdefault(
            (results["recipe"], results["dataset"]),
            results | {"folds": {}, "commands": {}},
        )
        kept["commands"][results["config"]["seed"]] = rerun_command(
            results["recipe"],
            results["config"],
            f"runs/{path.stem}",
            folds=list(results["folds"]),
        )
        for fold, run in results["folds"].items():
            kept["folds"].setdefault(fold, []).append(run)
    return found


def runs_of(results: dict) -> list[dict]:
    """The runs of all folds."""
    return [run for runs in results["folds"].values() for run in runs]


def values(results: dict, name: str) -> list[float]:
    """A number of the evaluation, fold by fold: the mean of its seeds."""
    return [
        statistics.fmean([flat(run["evaluation"])[name] for run in runs])
        for runs in results["folds"].values()
    ]


def _folds(results: dict) -> str:
    seeds = {fold: len(runs) for fold, runs in results["folds"].items()}
    if len({*seeds.values()}) > 1:
        return ", ".join(f"{fold} x {n} seeds" for fold, n in seeds.items())
    (number,) = {*seeds.values()}
    return ", ".join(seeds) + f" x {number} seeds" * (number > 1)


def disentangled(found: dict, dataset: str) -> dict[str, dict]:
    """Results on a data set by method, in the order of the paper."""
    return {
        name: found[recipe, dataset]
        for recipe, name in METHODS.items()
        if (recipe, dataset) in found
    }


def retrieved(found: dict, dataset: str) -> dict[str, dict]:
    """Results on a data set by loss, in the order of the paper."""
    prefix = dataset.partition("/")[0]
    return {
        name: found[f"{prefix}_retrieval_{loss}", dataset]
        for loss, name in LOSSES.items()
        if (f"{prefix}_retrieval_{loss}", dataset) in found
    }


def table(found: dict[tuple[str, str], dict]) -> str:
    """The markdown between the markers."""
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
    # Patience may end some runs sooner.
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
    for method, (results, ranking) in _rankings(rows).items():
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


def _rankings(rows: dict[str, dict]) -> dict[str, tuple[dict, str]]:
    """Results and the name of a ranking in them; also that of a distance."""
    rankings = {}
    for method, results in rows.items():
        rankings[method] = results, "test"
        run = runs_of(results)[0]
        if "test_learned_distance" in run["evaluation"]:
            rankings[f"{method}, ranked by it"] = (
                results,
                "test_learned_distance",
            )
    return rankings


def _clusters(rows: dict[str, dict], heading: str) -> list[str]:
    """Of the methods that were evaluated with `cluster`."""
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


def draw(found: dict[tuple[str, str], dict]) -> None:
    """Bars, AUC distributions, learning and recall curves, as PNG."""
    from trainers.quiet import import_tensorflow

    import_tensorflow()
    from embeddings_tf import viz

    FIGURES.mkdir(parents=True, exist_ok=True)
    figures = {}
    for dataset, title in DISENTANGLING.items():
        if rows := disentangled(found, dataset):
            for name, figure in _disentangling_figures(rows, title).items():
                figures[dataset, name] = figure
    for dataset, title in RETRIEVAL.items():
        if rows := retrieved(found, dataset):
            figures[dataset, "recall"] = _recall_figure(rows, title)
    for (dataset, name), figure in figures.items():
        prefix = dataset.replace("/", "_")
        viz.save_figure(figure, FIGURES / f"{prefix}_{name}.png")


def _disentangling_figures(rows: dict[str, dict], title: str) -> dict:
    from embeddings_tf import viz

    first = next(iter(rows.values()))
    measures, untrained, starts = {}, {}, {}
    for measure, name in MEASURES.items():
        measures[name] = {
            method: values(results, f"test.{measure}")
            for method, results in rows.items()
        }
        untrained[name] = values(first, f"test_untrained.{measure}")
        starts[name] = _start([*measures[name].values(), untrained[name]])
    figures = {
        "measures": viz.bars_figure(
            measures, baselines=untrained, starts=starts, title=title
        ),
        "auc_distribution": viz.auc_distribution_figure(
            {
                method: [
                    run["evaluation"]["test"]["nonredundant_values"]["auc"]
                    for run in runs_of(results)
                ]
                for method, results in rows.items()
            },
            title=title,
        ),
    }
    for measure in ("explicitness", "modularity"):
        figures[f"{measure}_curves"] = viz.learning_curves_figure(
            {
                method: _curves(results, f"val_{measure}")
                for method, results in rows.items()
            },
            f"{measure} on validation identities",
            step="batch",
            title=title,
        )
    return figures


def _recall_figure(rows: dict[str, dict], title: str):
    from embeddings_tf import viz

    first = next(iter(rows.values()))
    ks = first["config"]["evaluation"]["k"]
    return viz.recall_figure(
        {
            method: [
                {k: run["evaluation"][ranking][f"recall_at_{k}"] for k in ks}
                for run in runs_of(results)
            ]
            for method, (results, ranking) in _rankings(rows).items()
        },
        ceiling=statistics.fmean(values(first, "test.ceiling")),
        title=title,
    )


def _start(runs: list[list[float]]) -> float:
    """Where an axis starts to show differences between the means."""
    lowest = min(statistics.fmean(numbers) for numbers in runs)
    return max(0.0, int(20 * lowest) / 20 - 0.05)


def _curves(results: dict, measure: str) -> list[dict[int, float]]:
    """From the batch to the measure, for each fold."""
    curves = []
    for run in runs_of(results):
        training = run["training"]
        batches = training["steps"] // training["epochs"]
        curves.append(
            {
                row["epoch"] * batches: row[measure]
                for row in training["history"]
            }
        )
    return curves


def main() -> None:
    collect_folders(__doc__, collect)
    found = load()
    write_between(PAGE, BEGIN, END, table(found))
    draw(found)
    print(f"wrote {PAGE.relative_to(ROOT)} and {FIGURES.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
