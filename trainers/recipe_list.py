"""Prints the recipes as a table."""

import posixpath

from trainers.recipe import Recipe
from trainers.run_config import run_from_config

RESULTS = "benchmarks/results"


def recipe_list(recipes: dict[str, Recipe]) -> str:
    """Returns name, data set, method and status of each recipe, line by line.

    The status is the place of the results in the repository, or says that the
    recipe has not been run.
    """
    rows = [("recipe", "data set", "method", "results")]
    for name, recipe in recipes.items():
        run = run_from_config(recipe.config())
        paths = [
            posixpath.normpath(f"{RESULTS}/{path}") for path in recipe.results
        ]
        status = ", ".join(paths) or "not run"
        rows.append((name, run.data.dataset, run.method.name, status))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    )
