"""Trains the winner of a search: `python -m tuning.winner --search DIR ...`.

The values of the best trial are set in the recipe, at the recipe's own length,
and the recipe is trained on the folds that the search did not see. Searches of
several methods with one budget thus give comparable results.
"""

import argparse
import pathlib
import shlex
import sys

from trainers import command_line
from trainers.config import load_function
from trainers.config import load_recipe
from trainers.overrides import overrides
from trainers.run_config import config_of
from trainers.workdir import read_results
from trainers.workdir import recipe_fields
from tuning.search import SPACES
from tuning.search import run_maker
from tuning.search import space_names


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m tuning.winner",
        description="Train the best values of a search at the recipe's own "
        "length on the folds that the search did not see, and evaluate them.",
        epilog="Any field of the recipe can be set: --config.field=value, such "
        "as the same number of batches for every method.",
    )
    result.add_argument(
        "--search", required=True, metavar="DIR", help="folder of the search"
    )
    result.add_argument(
        "--workdir", required=True, help="folder of the training"
    )
    result.add_argument(
        "--folds",
        type=int,
        nargs="+",
        metavar="K",
        help="which folds to train, from 0 (default: all but 0)",
    )
    return result


def winning_overrides(folder: str, more: list[str]) -> tuple[str, list[str]]:
    """Returns the recipe of a search, and its winner's values as overrides.

    Args:
        folder: Folder of a finished search.
        more: Overrides of all values, also of the winner's.

    Raises:
        ValueError: If no trial succeeded, or overrides cannot express the
            winner, for instance if it has another kind of schedule.
    """
    import keras_tuner

    from tuning.report import kept_in_full

    results = read_results(pathlib.Path(folder))
    if not results.get("best"):
        raise ValueError(
            f"{folder} contains no finished trial; name the folder of a search"
        )
    recipe, name = results["recipe"], results["space"]
    space = load_function(name, SPACES, "space", "space", space_names())
    kept = kept_in_full(results["overrides"])
    values = keras_tuner.HyperParameters()
    values.values = dict(results["best"]["values"])
    winner = run_maker(load_recipe(recipe, kept), space)(values)
    found = [
        f"{field}={value}"
        for field, value in overrides(recipe, config_of(winner)).items()
    ]
    again = recipe_fields(load_recipe(recipe, found))
    if again != recipe_fields(winner):
        raise ValueError(
            f"the winner of {folder} cannot be written as overrides of "
            f"{recipe}; train its best.py instead"
        )
    return recipe, [*found, *more]


def train_winner(
    search: str, workdir: str, folds: list[int] | None, more: list[str]
) -> dict:
    """Trains and evaluates the winner; on folds, if the recipe has them."""
    from trainers.quiet import import_tensorflow

    import_tensorflow()
    recipe, fields = winning_overrides(search, more)
    run = load_recipe(recipe, fields)
    print(
        f"Winner of {search}: --config {recipe} "
        + shlex.join(f"--config.{field}" for field in fields),
        flush=True,
    )
    if run.data.folds.num_folds:
        from trainers.cross_validate import cross_validate

        return cross_validate(recipe, workdir, folds, fields)
    if folds is not None:
        raise ValueError(f"{recipe} has no folds; leave out --folds")
    from trainers.evaluate import evaluate
    from trainers.train import train

    train(recipe, workdir, fields)
    return evaluate(workdir, [])


def main(words=None) -> int:
    arguments = command_line.parse(parser(), words)
    return command_line.run(
        train_winner,
        arguments.search,
        arguments.workdir,
        arguments.folds,
        arguments.overrides,
    )


if __name__ == "__main__":
    sys.exit(main())
