"""Collects and loads the winners of searches with equal budgets."""

import pathlib

from tools import cross_validation_results as of_folds
from tools import verification_results as of_pairs
from tools.generated_text import ROOT
from tools.keep_result import keep_result
from tools.keep_result import kept_results
from tools.run_files import run_config
from tools.run_files import run_results

RESULTS = ROOT / "benchmarks" / "results" / "equal_budgets"
# Former winners of searches that were run again.
FORMER = RESULTS / "former"
FORMER_WINNER = "former winner"
# What must be equal for every method of a table.
BUDGET = (
    "space",
    "objective",
    "monitor",
    "trials",
    "trial_batches",
    "fold",
    "batches",
)
# A search with 500 dimensions replaces the other values of its recipe.
WIDE_WINNER = "F-statistic, 500 dimensions"
RETRIEVING = of_folds.LOSSES | {"f_statistic_70_of_500": WIDE_WINNER}
DISENTANGLING = of_folds.METHODS | {"sprites_beta_vae": "beta-VAE, searched"}


def collect(workdir: pathlib.Path, replace: bool = False) -> None:
    """Copies the numbers of `tuning.winner` into the repository."""
    results = run_results(workdir)
    config = run_config(workdir)
    if "search" not in results:
        raise ValueError(
            f"{workdir} does not contain the winner of a search: results.json "
            "has no section `search`. Start its command of tuning.winner "
            "again, which adds the section"
        )
    recipe = results["recipe"]
    dataset = of_pairs.data_of(recipe, config)
    kept = {
        "recipe": recipe,
        "dataset": dataset,
        "search": results["search"],
    }
    if "folds" in results:
        kept |= {"config": config, "folds": results["folds"]}
        for run in results["folds"].values():
            of_folds.drop_pictures(run)
    else:
        run = of_pairs.kept_run(results, config)
        kept |= {"seed": config["seed"], "runs": {workdir.name: run}}
    dataset = dataset.replace("/", "-")
    name = f"{recipe}-{dataset}-seed_{config['seed']}.json"
    keep_result(RESULTS / name, kept, replace=replace)


def load() -> dict[pathlib.Path, dict]:
    """Returns the result files, by path."""
    return kept_results(RESULTS)


def disentangled(results: dict, dataset: str) -> dict[str, dict]:
    """Returns the winners of disentangling on a data set, by their names."""
    return {
        name: results[recipe, dataset]
        for recipe, name in DISENTANGLING.items()
        if (recipe, dataset) in results
    }


def former_winners() -> dict[tuple[str, str], dict]:
    """Returns former winners by recipe and data set.

    Their searches were run again, with other scores.
    """
    return of_folds.together(kept_results(FORMER))


def former_disentangled(dataset: str) -> dict[str, dict]:
    """Returns the former winners of disentangling, by their names."""
    return _as_former(disentangled(former_winners(), dataset))


def former_retrieved(dataset: str) -> dict[str, dict]:
    """Returns the former winners of retrieval, by their names."""
    found = of_folds.retrieved(former_winners(), dataset, RETRIEVING)
    return _as_former(found)


def _as_former(rows: dict[str, dict]) -> dict[str, dict]:
    return {f"{name}, {FORMER_WINNER}": row for name, row in rows.items()}


def of_evaluation(found: dict, name: str) -> dict[pathlib.Path, dict]:
    """Returns the files of one kind of evaluation, such as `retrieval`."""
    return {
        path: results
        for path, results in found.items()
        if _config(results)["evaluation"]["name"] == name
    }


def verified(found: dict) -> dict[tuple, dict]:
    """Returns runs of verification as `verification_results.load` does."""
    files = {}
    for path, results in of_evaluation(found, "verification").items():
        runs = results.get("runs") or {
            f"fold_{fold}": of_pairs.kept_run(run, results["config"])
            for fold, run in results["folds"].items()
        }
        seed = _config(results)["seed"]
        files[path] = results | {"runs": runs, "seed": seed}
    return of_pairs.together(files)


def searches(found: dict, recipes: list[str], dataset: str) -> dict[str, dict]:
    """Returns the search of each recipe on a data set.

    Raises:
        ValueError: If their budgets differ, if seeds have another search, or
            if a search chose on another fold than 0.
    """
    by_recipe: dict[str, dict] = {}
    for path, results in found.items():
        if (results["recipe"], results["dataset"]) not in [
            (recipe, dataset) for recipe in recipes
        ]:
            continue
        search = results["search"]
        if search["fold"] != 0:
            raise ValueError(
                f"{path.name}: the search chose on fold {search['fold']}; "
                "expected fold 0. Search again without --config.folds.fold"
            )
        if by_recipe.setdefault(results["recipe"], search) != search:
            raise ValueError(
                f"{path.name}: the seeds of {results['recipe']} come from "
                "different searches; expected one search, of fold 0"
            )
    budgets = {
        recipe: {field: search[field] for field in BUDGET}
        for recipe, search in by_recipe.items()
    }
    for recipe, budget in budgets.items():
        first = next(iter(budgets))
        if budget != budgets[first]:
            raise ValueError(
                f"{dataset}: received the budgets {budgets[first]} of {first} "
                f"and {budget} of {recipe}; expected equal ones. Search or "
                "train again with the same numbers"
            )
    return by_recipe


def run_of(found: dict, recipe: str, dataset: str) -> tuple[dict, list[str]]:
    """Returns config and folds of a winner, of its first seed."""
    results = _first_seed(found, recipe, dataset)
    return _config(results), list(results.get("folds", ()))


def checkpoint_batches(found: dict, recipe: str, dataset: str) -> list[int]:
    """Returns the batches before the checkpoint of each run of `run_of`."""
    results = _first_seed(found, recipe, dataset)
    steps = _config(results)["steps_per_epoch"]
    runs = results.get("folds") or results["runs"]
    return [steps * run["training"]["best_epoch"] for run in runs.values()]


def _first_seed(found: dict, recipe: str, dataset: str) -> dict:
    return next(
        each
        for each in found.values()
        if (each["recipe"], each["dataset"]) == (recipe, dataset)
    )


def _config(results: dict) -> dict:
    if "config" in results:
        return results["config"]
    return next(iter(results["runs"].values()))["config"]
