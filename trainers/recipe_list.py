"""Prints the recipes as a table."""

import itertools
import pathlib

from trainers.recipe import Recipe
from trainers.run_config import run_from_config


def recipe_list(recipes: dict[str, Recipe]) -> str:
    """Name, method and status of each recipe, below its data set.

    The status is the folder of `benchmarks/results` that has the first of the
    results, or that the recipe has not been run.
    """
    rows = []
    for name, recipe in recipes.items():
        run = run_from_config(recipe.config())
        folders = [pathlib.Path(path).parent.name for path in recipe.results]
        status = folders[0] if folders else "not run"
        rows.append((run.data.dataset, name, run.method.name, status))
    lines = ["recipes of each data set; method; folder of benchmarks/results"]
    for dataset, group in itertools.groupby(rows, lambda row: row[0]):
        group = list(group)
        widths = [max(len(row[i]) for row in group) for i in (1, 2)]
        lines += ["", dataset]
        lines += [
            f"  {name:<{widths[0]}}  {method:<{widths[1]}}  {status}"
            for _, name, method, status in group
        ]
    return "\n".join(lines)
