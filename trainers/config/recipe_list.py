"""Prints the recipes as a table."""

import json
import pathlib

from trainers.config.run_config import run_from_config
from trainers.recipes.recipe import Recipe

RESULTS = pathlib.Path(__file__).parents[2] / "benchmarks" / "results"
WIDTH = 100


def recipe_list(
    recipes: dict[str, Recipe], results: pathlib.Path = RESULTS
) -> str:
    """Name, method, results and description of each recipe, by data set.

    The results are the folders below `benchmarks/results` that have results of
    the recipe. An installed package has no such folder, so its list does not
    say what was run.

    Args:
        recipes: Recipes by name.
        results: The folder `benchmarks/results`.
    """
    heading = "Recipes by data set: name, method"
    found = None
    if results.is_dir():
        heading += ", folders with results in benchmarks/results"
        found = _folders(results)
    rows = {}
    for name, recipe in recipes.items():
        run = run_from_config(recipe.config())
        row = [name, run.method.name]
        if found is not None:
            row.append(", ".join(sorted(found.get(name, {"not run"}))))
        rows.setdefault(run.data.dataset, []).append((row, recipe.about))
    lines = [heading]
    for dataset, group in rows.items():
        lines += ["", dataset, *_lines(group)]
    return "\n".join(lines)


def _lines(rows: list[tuple[list[str], str]]) -> list[str]:
    """Returns aligned cells, and below them what the recipe is about."""
    widths = [max(len(row[i]) for row, _ in rows) for i in (0, 1)]
    lines = []
    for (name, method, *folders), about in rows:
        head = f"  {name:<{widths[0]}}  {method:<{widths[1]}}"
        line = "  ".join([head, *folders]).rstrip()
        if folders and len(line) > WIDTH:
            lines += [head.rstrip(), folders[0].rjust(WIDTH)]
        else:
            lines.append(line)
        lines.append(f"      {about}")
    return lines


def _folders(results: pathlib.Path) -> dict[str, set[str]]:
    """Returns the folders with results of each recipe.

    A file that is in no folder has its own name here.
    """
    found = {}
    for file in results.rglob("*.json"):
        try:
            contents = json.loads(file.read_bytes())
        except ValueError as error:
            raise ValueError(f"{file} is damaged: {error}") from error
        if isinstance(contents, dict) and "recipe" in contents:
            folder = file.relative_to(results).parts[0]
            found.setdefault(contents["recipe"], set()).add(folder)
    return found
