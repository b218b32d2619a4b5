"""Compares a training of the best trial of a search with the search.

    python -m trainers.train --workdir runs/NAME_best \\
      --config benchmarks/results/searches/NAME_best.py
    python -m tools.agree runs/NAME_best --record

A search has many trainings. Its best trial is one of them, and stands in the
table of the search.
"""

import json
import pathlib

from tools import agree
from tools.run_files import run_recipe_and_config
from tools.run_files import run_results
from trainers.config import load_recipe
from trainers.workdirs.workdir import as_json
from tuning.trial_files import objective_value

ENDING = "_best.py"


def search_of(workdir: pathlib.Path) -> pathlib.Path | None:
    """Returns the committed search whose best trial is in a workdir, if any."""
    if not (workdir / "config.json").is_file():
        return None
    recipe = run_recipe_and_config(workdir)["recipe"]
    if not recipe.endswith(ENDING):
        return None
    name = pathlib.PurePath(recipe).name.removesuffix(ENDING)
    path = agree.RESULTS / "searches" / f"{name}.json"
    return path if path.is_file() else None


def differences(
    search: pathlib.Path, workdir: pathlib.Path
) -> dict[str, tuple[float, float, float]]:
    """Returns the objective of the search and of the training, as `agree` does.

    Raises:
        ValueError: If the training has other fields than the best trial.
    """
    file = search.with_name(search.stem + ENDING)
    expected = agree.key(file.name, as_json(load_recipe(str(file))))
    config = run_recipe_and_config(workdir)["config"]
    if agree.key(file.name, config) != expected:
        raise ValueError(
            f"{workdir} was trained with other fields than {file.name}; "
            f"expected a run of this command: {command(search)}"
        )
    kept = json.loads(search.read_text("utf-8"))
    best = kept["best"]
    new = objective_value(run_results(workdir)["training"], kept["objective"])
    name = f"trials.{best['trial']}.objective"
    return agree.apart({name: best["objective"]}, {name: new})


def command(search: pathlib.Path) -> str:
    """Returns one shell line that trains the best trial of a search."""
    file = search.with_name(search.stem + ENDING)
    return (
        f"python -m trainers.train --config {file.relative_to(agree.ROOT)} "
        f"--workdir runs/{search.stem}_best"
    )
