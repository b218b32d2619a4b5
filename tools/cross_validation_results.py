"""Collects and loads results of cross-validations in the repository."""

import pathlib
import shutil
from collections.abc import Mapping

from tools.generated_text import FIGURES
from tools.generated_text import ROOT
from tools.keep_result import keep_result
from tools.keep_result import kept_results
from tools.keep_result import refuse_winner
from tools.one_config import require_one_config
from tools.paired_difference import means_of_shared_seeds
from tools.rerun_command import rerun_command
from tools.run_files import run_config
from tools.run_files import run_results
from trainers.workdirs.numbers_by_name import numbers_by_name

RESULTS = ROOT / "benchmarks" / "results" / "cross_validation"
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
    "prototypical": "prototypical networks",
    "learned_distance": "learned distance",
    **{
        f"f_statistic_{n}_of_500": f"F-statistic, {n} of 500 dimensions"
        for n in (1, 3, 10, 35, 70, 150, 300, 500)
    },
    "f_statistic_merge": "F-statistic, inverted, 70 of 500 dimensions",
    "f_statistic_welch": "F-statistic, Welch's test, 70 of 500 dimensions",
}
# The docs show figures of single dimensions for the first fold of these runs.
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
    "modularity_corrected": "corrected for chance",
    "explicitness": "explicitness",
    "single_dimension_auc": "single-dimension AUC",
}
# The number by which searches choose.
SUM = "corrected_modularity_plus_explicitness"
COMPARED = {**MEASURES, SUM: "corrected + explicitness"}


def collect(workdir: pathlib.Path, replace: bool = False) -> None:
    """Copies the numbers of a cross-validation into the repository."""
    results = run_results(workdir)
    refuse_winner(workdir, results)
    config = run_config(workdir)
    for run in results["folds"].values():
        drop_pictures(run)
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


def drop_pictures(run: dict) -> None:
    """Drops the numbers of a run that a figure shows."""
    for found in run["evaluation"].values():
        if isinstance(found, dict):
            found.pop("mutual_information", None)
            found.pop("mutual_information_corrected", None)


def load() -> dict[tuple[str, str], dict]:
    """Returns results by recipe and data set; runs of all seeds together."""
    return together(kept_results(RESULTS))


def together(kept_files: dict[pathlib.Path, dict]) -> dict:
    """Joins the seeds of a recipe, as `load`, from result files of folds.

    Raises:
        ValueError: If two seeds differ in other fields.
    """
    found, configs = {}, {}
    for path, results in kept_files.items():
        key, config = (results["recipe"], results["dataset"]), results["config"]
        kept = found.setdefault(key, results | {"folds": {}, "commands": {}})
        configs.setdefault(key, {})[path.name] = config
        seed = config["seed"]
        kept["commands"][seed] = rerun_command(
            results["recipe"],
            config,
            f"runs/{path.stem}",
            folds=list(results["folds"]),
        )
        for fold, run in results["folds"].items():
            kept["folds"].setdefault(fold, []).append({"seed": seed, **run})
    for (recipe, dataset), of_seeds in configs.items():
        require_one_config(f"{recipe} on {dataset}", of_seeds)
    return found


def runs_of(results: dict) -> list[dict]:
    """Returns the runs of all folds."""
    return [run for runs in results["folds"].values() for run in runs]


def values(results: dict, name: str) -> list[float]:
    """Returns a number of the evaluation per fold, the mean over seeds."""
    return [*by_fold(results, name).values()]


def by_fold(results: dict, name: str) -> dict[str, float]:
    """Like `values`, by fold; without folds whose runs lack the number."""
    found = by_fold_and_seed(results, name)
    return means_of_shared_seeds(found, found)[0]


def by_fold_and_seed(results: dict, name: str) -> dict[tuple, float]:
    """A number by fold and seed; without folds whose runs lack it."""
    found = {}
    for fold, runs in results["folds"].items():
        of_runs = {
            run["seed"]: _with_sums(numbers_by_name(run["evaluation"]))
            for run in runs
        }
        if all(name in numbers for numbers in of_runs.values()):
            for seed, numbers in of_runs.items():
                found[fold, seed] = numbers[name]
    return found


def _with_sums(numbers: dict[str, float]) -> dict[str, float]:
    """Adds corrected modularity plus explicitness where both are there."""
    sums = {
        f"{split}.{SUM}": value + numbers[f"{split}.modularity_corrected"]
        for name, value in numbers.items()
        for split, _, measure in [name.rpartition(".")]
        if measure == "explicitness"
        and f"{split}.modularity_corrected" in numbers
    }
    return numbers | sums


def paired(first: tuple, second: tuple) -> tuple[dict, dict]:
    """Returns a number of each by fold, the mean over the seeds of both.

    Args:
        first: Results, and the name of a number of the evaluation.
        second: The same of the other method.
    """
    return means_of_shared_seeds(
        by_fold_and_seed(*first), by_fold_and_seed(*second)
    )


def seeds_of(results: dict) -> list[int]:
    """Returns the seeds of the runs of all folds."""
    return sorted({run["seed"] for run in runs_of(results)})


def with_seeds(results: dict, seeds: list[int]) -> dict:
    """Returns results with the runs of some seeds only."""
    folds = {
        fold: [run for run in runs if run["seed"] in seeds]
        for fold, runs in results["folds"].items()
    }
    return results | {"folds": {f: runs for f, runs in folds.items() if runs}}


def shared_seeds(rows: dict[str, dict]) -> list[int]:
    """Returns the seeds that every method has."""
    return sorted(set.intersection(*(set(seeds_of(r)) for r in rows.values())))


def disentangled(found: dict, dataset: str) -> dict[str, dict]:
    """Returns results on a data set by method, in the paper's order."""
    return {
        name: found[recipe, dataset]
        for recipe, name in METHODS.items()
        if (recipe, dataset) in found
    }


def retrieved(
    found: dict, dataset: str, losses: Mapping[str, str] = LOSSES
) -> dict[str, dict]:
    """Returns results on a data set by loss, in the paper's order.

    Args:
        found: Results by recipe and data set.
        dataset: Name of the data set.
        losses: Names in tables, by the end of a recipe's name.
    """
    prefix = dataset.partition("/")[0]
    return {
        name: found[f"{prefix}_retrieval_{loss}", dataset]
        for loss, name in losses.items()
        if (f"{prefix}_retrieval_{loss}", dataset) in found
    }


def rankings(rows: dict[str, dict]) -> dict[str, tuple[dict, str]]:
    """Results and name of each ranking, also by a learned distance."""
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
