"""Collects and loads results of verification runs in the repository."""

import collections
import pathlib
import shutil
import statistics

from tools.generated_text import FIGURES
from tools.generated_text import ROOT
from tools.keep_result import keep_result
from tools.keep_result import kept_results
from tools.keep_result import refuse_winner
from tools.one_config import require_one_config
from tools.one_config import without_start
from tools.paired_difference import means_of_shared_seeds
from tools.run_files import run_config
from tools.run_files import run_results
from tools.uncertainty_table import run_of
from trainers.config import load_recipe
from trainers.recipes import every_recipe
from trainers.workdirs.workdir import recipe_fields

RESULTS = ROOT / "benchmarks" / "results" / "verification"
METHODS = {
    "learned_distance": "learned distance",
    "learned_distance_without_auxiliary": "learned distance, no classifier",
    "triplet": "triplet",
    "triplet_all": "triplet, all triplets",
    "unseen_digits_learned_distance": "learned distance",
    "unseen_digits_triplet": "triplet",
    "unseen_digits_fine_tuned": "learned distance, Omniglot before",
    "speakers": "learned distance",
    "without_classifier": "learned distance, no classifier",
    "alternating": "learned distance, in turns",
    "symmetric": "symmetric learned distance",
    "triplet_classifier": "triplet and classifier",
    **{
        f"{loss}_{kind}": f"{loss.replace('_', ' ')}, {what}"
        for loss in (
            "lifted_structure",
            "binomial_deviance",
            "histogram",
            "triplet",
        )
        for kind, what in (
            ("beside", "distance beside"),
            ("frozen", "distance on the fixed encoder"),
            ("joint", "together with the distance"),
        )
    },
}
SCORES = {
    "learned_distance": "learned distance",
    "cosine": "cosine",
    "fused": "learned distance and cosine",
    "plda": "PLDA",
    "l2": "Euclidean distance",
    "cosine_as_norm": "cosine, AS-norm",
}
DATASETS = {
    "an4": "AN4, speakers",
    "spoken_digit": "Free Spoken Digit, words of an unseen speaker",
    "mnist": "MNIST, digits never trained on",
    "omniglot": "Omniglot, characters never trained on",
    "tiny_images": "Tiny ImageNet at 32 x 32 pixels, classes never trained on",
}
FOLDS, DIVISION = "folds", "division"
# Recipes with another task than the other recipes of their data set.
TASKS = {
    "mnist_learned_distance": "MNIST in a plane, digits of the training",
    "spoken_digit_speakers": "Free Spoken Digit, speakers of the training "
    "on other words (with five, to see that it works)",
}

# Pictures of evaluations in the docs, by recipe, seed and run: the name in the
# workdir and the name in docs/figures.
DRAWN = {
    ("mnist_learned_distance", 0, "plane"): {
        "embedding": "mnist_plane",
        "distance_properties": "mnist_plane_distance_properties",
    },
}


def collect(folder: pathlib.Path, replace: bool = False) -> None:
    """Copies the numbers of a recipe's runs into the repository."""
    if (folder / "results.json").is_file():
        results = run_results(folder)
        refuse_winner(folder, results)
    runs, recipes = {}, set()
    for workdir in sorted(folder.iterdir()):
        if not (workdir / "results.json").is_file():
            continue
        results = run_results(workdir)
        if "evaluation" not in results:
            continue
        config = run_config(workdir)
        runs[workdir.name] = kept_run(results, config)
        if config.get("initial_weights"):
            started = run_of(workdir)
            config["initial_weights"] = started["config"]["initial_weights"]
            runs[workdir.name]["initial_run"] = started["initial_run"]
        recipes.add(results["recipe"])
    if not runs:
        raise SystemExit(f"{folder} contains no evaluated run")
    if len(recipes) > 1:
        raise SystemExit(
            f"{folder} mixes the recipes {sorted(recipes)}; expected runs of "
            "one recipe. Move the others to folders of their own"
        )
    seeds = {run["config"]["seed"] for run in runs.values()}
    if len(seeds) > 1:
        raise SystemExit(f"{folder} mixes the seeds {sorted(seeds)}")
    (recipe,), seed = recipes, seeds.pop()
    keep_result(
        RESULTS / f"{recipe}-seed_{seed}.json",
        {"recipe": recipe, "seed": seed, "runs": runs},
        replace=replace,
    )
    FIGURES.mkdir(parents=True, exist_ok=True)
    for run in runs:
        for drawn, shown in DRAWN.get((recipe, seed, run), {}).items():
            shutil.copyfile(
                folder / run / f"{drawn}.png", FIGURES / f"{shown}.png"
            )


def kept_run(results: dict, config: dict) -> dict:
    """Returns what is kept of a run's `results.json`, with its config."""
    # Some files in benchmarks/results/verification lack the last.
    parts = ("training", "evaluation", "data_fingerprint")
    found = {name: results[name] for name in parts if name in results}
    return {"config": config, **found}


def initial_run_of(run: dict) -> dict | None:
    """Returns recipe and config of the run from which a run started.

    mnist_unseen_digits_fine_tuned-seed_0.json lacks them; its folder has the
    recipe's name.
    """
    recipe = pathlib.PurePath(run["config"].get("initial_weights", "")).name
    if "initial_run" in run or recipe not in every_recipe():
        return run.get("initial_run")
    return {"recipe": recipe, "config": recipe_fields(load_recipe(recipe))}


def missing(found: dict, dataset: str, protocol: str) -> dict[str, str]:
    """Returns the recipes of a table without a result, by method."""
    if protocol not in (FOLDS, DIVISION):
        return {}
    recipes = {}
    for recipe in every_recipe():
        if not any(recipe.endswith(f"_{name}") for name in METHODS):
            continue
        fields = recipe_fields(load_recipe(recipe))
        if (
            fields["evaluation"]["name"] == "verification"
            and data_of(recipe, fields) == dataset
            and recipe not in TASKS
            and (dataset, protocol, recipe) not in found
        ):
            recipes[method_of(recipe)] = recipe
    order = [*METHODS.values()]
    return dict(sorted(recipes.items(), key=lambda row: order.index(row[0])))


def load() -> dict[tuple[str, str, str], dict]:
    """Returns runs by (data set, protocol, recipe), (name, seed).

    The protocol is "folds", "division" for a folder whose classes are divided
    by a seed, the name of the run, or the name of a task.
    """
    return together(kept_results(RESULTS))


def together(kept_files: dict[pathlib.Path, dict]) -> dict:
    """Joins the runs and seeds of a recipe, as `load`, from result files.

    Raises:
        ValueError: If two runs differ in more than the seed and the fold, or
            if the runs do from which they started; if several seeds did not
            start from runs of their seeds.
    """
    found = collections.defaultdict(dict)
    for results in kept_files.values():
        for name, run in results["runs"].items():
            recipe, config = results["recipe"], run["config"]
            protocol = FOLDS if name.startswith("fold_") else name
            if _is_own_data(config):
                protocol = name = DIVISION
            protocol = TASKS.get(recipe, protocol)
            key = data_of(recipe, config), protocol, recipe
            found[key][name, results["seed"]] = run
    for (dataset, protocol, recipe), runs in found.items():
        what = f"{recipe} on {dataset}, {protocol}"
        named = {
            f"{name} of seed {seed}": run for (name, seed), run in runs.items()
        }
        require_one_config(
            what,
            {n: without_start(r["config"], r) for n, r in named.items()},
        )
        several = len({seed for _, seed in runs}) > 1
        for name, run in named.items():
            start = run.get("initial_run", run)["config"]
            if several and start["seed"] != run["config"]["seed"]:
                raise ValueError(
                    f"{what}: {name} started from a run of seed "
                    f"{start['seed']}; expected the seed of the run"
                )
        require_one_config(
            f"{what}, which start from other runs",
            {
                name: run["initial_run"]["config"]
                for name, run in named.items()
                if "initial_run" in run
            },
        )
    return dict(found)


def rows(found: dict, dataset: str, protocol: str) -> dict:
    """Returns `{(method, score): {(run, seed): measures}}` for the table."""
    table = {}
    for key, runs in found.items():
        if key[:2] != (dataset, protocol):
            continue
        method = method_of(key[2])
        for score in SCORES:
            measures = {
                name: of_test_split(run)[score] | _claimed(run, score)
                for name, run in runs.items()
                if score in of_test_split(run)
            }
            if measures:
                table[method, SCORES[score]] = measures
    order = [*METHODS.values()]
    return dict(sorted(table.items(), key=lambda row: order.index(row[0][0])))


def of_test_split(run: dict) -> dict:
    """Returns the results on the test split, or on its evaluated part."""
    (split,) = run["config"]["evaluation"]["splits"]
    return run["evaluation"][split]


def _claimed(run: dict, score: str) -> dict:
    """The error over claims of classes, if they were evaluated."""
    (split,) = run["config"]["evaluation"]["splits"]
    found = run["evaluation"].get(f"{split}_claimed", {}).get(score, {})
    name = "equal_error_rate"
    return {"claimed": found[name]} if name in found else {}


def method_of(recipe: str) -> str:
    """Returns the method of a recipe, by the longest matching suffix."""
    return METHODS[_ending(recipe)]


def data_of(recipe: str, config: dict) -> str:
    """Returns the data set of a run; of a folder, the recipe's first part.

    The path of a folder differs between machines.
    """
    if _is_own_data(config):
        return recipe.removesuffix(f"_{_ending(recipe)}")
    return config["dataset"]


def _is_own_data(config: dict) -> bool:
    return ":" in config["dataset"]


def _ending(recipe: str) -> str:
    ends = [name for name in METHODS if recipe.endswith(f"_{name}")]
    if not ends:
        raise ValueError(
            f"the recipe {recipe} ends in no method of {[*METHODS]}; add the "
            "method to tools/verification_results.py"
        )
    return max(ends, key=len)


def paired_by(ours: dict, theirs: dict) -> list[str]:
    """Returns what two rows can be paired by, units of `difference_table`.

    By folds if they share several, then also by seeds if they share several;
    by seeds if they share a single run.
    """
    shared = [key for key in ours if key in theirs]
    if len({run for run, _ in shared}) == 1:
        return ["seeds"]
    several_seeds = len({seed for _, seed in shared}) > 1
    return ["folds"] + ["seeds of folds"] * several_seeds


def paired_numbers(
    ours: dict, theirs: dict, name: str, unit: str = "folds"
) -> tuple[dict, dict]:
    """Returns a measure of both by fold or seed.

    By fold, it is the mean over the seeds that both have; by seed, over the
    folds.
    """
    numbers = [
        {key: measures[name] for key, measures in row.items()}
        for row in (ours, theirs)
    ]
    return means_of_shared_seeds(*numbers, key=int(unit != "folds"))


def by_run(measures: dict, name: str) -> list[float]:
    """Returns a measure of each fold (or split), the mean over its seeds."""
    of_run = collections.defaultdict(list)
    for (run, _), found in measures.items():
        of_run[run].append(found[name])
    return [statistics.fmean(values) for values in of_run.values()]


def by_seed(measures: dict, name: str) -> list[float]:
    """Returns a measure of each seed, the mean over its folds."""
    of_seed = collections.defaultdict(list)
    for (_, seed), found in measures.items():
        of_seed[seed].append(found[name])
    return [statistics.fmean(values) for values in of_seed.values()]


def title_of(dataset: str, protocol: str) -> str:
    if protocol in TASKS.values():
        return protocol
    return DATASETS[dataset] + (
        "" if protocol in (FOLDS, DIVISION) else f", {protocol} split"
    )


def name_of_figure(dataset: str, protocol: str) -> str:
    return f"{dataset.replace('/', '_')}_{protocol.replace(' ', '_')}_eer"
