"""The recipes as a table for people."""

import posixpath

from trainers.recipe import Recipe
from trainers.run_config import run_from_config

RESULTS = "benchmarks/results"


def recipe_list(recipes: dict[str, Recipe]) -> str:
    """Name, data set, method and status of each recipe, one line each.

    The status tells where the results are in the repository, or that the
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
