"""Prints the recipes as a table."""

import itertools
import pathlib

from trainers.config.run_config import run_from_config
from trainers.recipes.recipe import Recipe

RESULTS = pathlib.Path(__file__).parents[2] / "benchmarks" / "results"


def recipe_list(
    recipes: dict[str, Recipe], results: pathlib.Path = RESULTS
) -> str:
    """Name, method and status of each recipe, below its data set.

    The status is the folder of `benchmarks/results` that has the first of the
    recipe's results, or that the recipe has not been run. An installed package
    has no results, so its list has no status.

    Args:
        recipes: Recipes by name.
        results: The folder `benchmarks/results`.
    """
    rows = []
    for name, recipe in recipes.items():
        run = run_from_config(recipe.config())
        row = [run.data.dataset, name, run.method.name]
        rows.append([*row, *_status(recipe, results)])
    lines = ["recipes of each data set; method"]
    if results.is_dir():
        lines[0] += "; folder of benchmarks/results"
    for _, group in itertools.groupby(rows, lambda row: row[0]):
        group = list(group)
        lines += ["", group[0][0]]
        width, other = (max(len(row[i]) for row in group) for i in (1, 2))
        lines += [
            f"  {name:<{width}}  {'  '.join([f'{method:<{other}}', *status])}"
            for _, name, method, *status in group
        ]
    return "\n".join(line.rstrip() for line in lines)


def _status(recipe: Recipe, results: pathlib.Path) -> list[str]:
    """Returns the status of a recipe, nothing without a results folder."""
    if not results.is_dir():
        return []
    found = (
        path.parent.name
        for pattern in recipe.results
        for path in results.glob(pattern)
    )
    return [next(found, "not run")]
