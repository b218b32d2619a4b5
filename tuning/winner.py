"""Trains the winner of a search: `python -m tuning.winner --search DIR ...`.

The values of the best trial are set in the recipe, and the recipe is trained
for `--batches N` batches, with its learning rate stretched to this length.
Searches of several methods with one budget thus give comparable results.

By default all folds but the fold of the search are trained; this is fold 0, if
the search had no `--config.folds.fold`. The search trained and chose on the
training and validation classes of its fold, and these classes are the test
classes of the other folds. The weights are new in each fold, but the chosen
values come from classes that are tested here, for every method alike. Only the
test classes of the search's own fold had no part in the search: name this fold
with `--folds`.
"""

import argparse
import pathlib
import shlex
import sys
from collections.abc import Sequence

from trainers import command_line
from trainers.checked_arguments import checked_arguments
from trainers.config import load_recipe
from trainers.config.load import load_function
from trainers.config.load import read_run
from trainers.config.run import Run
from trainers.config.run_config import apply_override
from trainers.config.run_config import config_of
from trainers.config.stretched import stretched
from trainers.cross_validate import add_folds
from trainers.cross_validate import cross_validate
from trainers.terminal import command_names
from trainers.workdirs.lock import open_workdir
from trainers.workdirs.overrides import overrides
from trainers.workdirs.results import read_results
from trainers.workdirs.results import update_results
from trainers.workdirs.workdir import recipe_fields
from tuning.full_length import kept_in_full
from tuning.full_length import kept_places
from tuning.require_unchanged import require_unchanged
from tuning.search import SAME
from tuning.search import SPACES
from tuning.search import run_maker
from tuning.search import space_names

# Fields in the results of a search, and their types.
FIELDS = {"recipe": str, "overrides": list, "best": dict}
FIELDS |= {"space": str, "objective": str, "direction": str, "search_seed": int}
FIELDS_OF_BEST = {"trial": str, "values": dict, "objective": int | float}
# Fields that `--batches` sets.
SET_BY_LENGTH = ("steps_per_epoch", "decay_steps")


def parser() -> argparse.ArgumentParser:
    result = command_line.ArgumentParser(
        prog=command_names.display_name("tuning.winner"),
        description="Train the best values of a search for a given number of "
        "batches, by default on all folds but the search's own, and evaluate "
        "them. The test classes of these folds are the classes on which the "
        "search trained and chose; only the test classes of its own fold, 0 "
        "by default, had no part in it.",
        epilog="Any other field can be set: --config.field=value.",
    )
    result.add_argument(
        "--search", required=True, metavar="DIR", help="folder of the search"
    )
    result.add_argument(
        "--batches",
        required=True,
        type=int,
        metavar="N",
        help="batches of each training; give every method the same number",
    )
    result.add_argument(
        "--workdir", required=True, help="folder of the training"
    )
    add_folds(result, "the fold of the search")
    return result


def winning_overrides(
    folder: str, num_batches: int, more: list[str]
) -> tuple[str, list[str]]:
    """Returns the recipe of a search, and its winner's values as overrides.

    The fold of the search is left out.

    Args:
        folder: Folder of a finished search.
        num_batches: Batches of the training. Early stopping is off.
        more: Overrides of all values, also of the winner's.

    Raises:
        ValueError: If the search is not finished or no trial succeeded; if the
            recipe or the space has changed since; if overrides cannot express
            the winner; if the epochs cannot have `num_batches` in all.
    """
    import keras_tuner

    path = pathlib.Path(folder)
    results = _finished(path)
    recipe, name = results["recipe"], results["space"]
    best, given = results["best"], results["overrides"]
    space = load_function(name, SPACES, "space", "space", space_names())

    def winner(fields):
        values = keras_tuner.HyperParameters()
        values.values = dict(best["values"])
        return run_maker(load_recipe(recipe, fields), space)(values)

    asked = {field: results[field] for field in SAME}
    require_unchanged(path, load_recipe(recipe, given), search=asked)
    require_unchanged(path / "trials" / f"trial_{best['trial']}", winner(given))
    full = winner(kept_in_full(recipe, given))
    found = [
        f"{field}={value}"
        for field, value in overrides(recipe, config_of(full)).items()
    ]
    _require_same(folder, recipe, found, full)
    found = [field for field in found if not field.startswith("folds.fold=")]
    found += kept_places(given)
    return recipe, [*found, *_of_length(recipe, full, num_batches, more), *more]


def _require_same(folder: str, recipe: str, found: list[str], run: Run) -> None:
    """Raises ValueError unless a recipe with overrides is the winner's run."""
    reason = ""
    try:
        again = recipe_fields(load_recipe(recipe, found))
    except ValueError as error:
        again, reason = None, f" ({error})"
    if again != recipe_fields(run):
        raise ValueError(
            f"the winner of {folder} cannot be written as overrides of "
            f"{recipe}{reason}; train its best.py instead"
        )


def _finished(path: pathlib.Path) -> dict:
    """Returns the results of a finished search that has a winner."""
    results = read_results(path)
    if not isinstance(results.get("trials"), list) or "space" not in results:
        raise ValueError(f"{path} contains no search; name its --workdir")
    if not results.get("finished"):
        raise ValueError(
            f"the search in {path} is not finished: {len(results['trials'])} "
            f"of {results.get('num_trials', 'an unknown number of')} trials "
            "have ended; start the same command of tuning.search again"
        )
    if not results.get("best"):
        raise ValueError(f"no trial of the search in {path} succeeded")
    best = results["best"]
    parts = [(results, FIELDS), (best, FIELDS_OF_BEST)]
    if not isinstance(best, dict) or not all(
        isinstance(part.get(name), kind)
        for part, fields in parts
        for name, kind in fields.items()
    ):
        raise ValueError(
            f"{path / 'results.json'} is damaged (parts of the search are "
            "missing); start the same command of tuning.search again, which "
            "writes it anew"
        )
    return results


def _of_length(
    recipe: str, run: Run, num_batches: int, more: list[str]
) -> list[str]:
    """Returns overrides with which a run trains for `num_batches` batches.

    The number of epochs stays, and early stopping is off. The decay of the
    learning rate is stretched with the training; a warm-up is not.
    """
    given = {override.partition("=")[0].rpartition(".")[2] for override in more}
    for field in SET_BY_LENGTH:
        if field in given:
            raise ValueError(
                f"--batches sets {field}; received --config for it, too: leave "
                "it out"
            )
    # `load_recipe` would refuse a decay that is shorter than these epochs.
    epochs = read_run(recipe, more).training.num_epochs
    if epochs < 1:
        raise ValueError(
            f"--config.num_epochs must be at least 1; received {epochs}"
        )
    if num_batches < 1 or num_batches % epochs:
        raise ValueError(
            f"--batches must be a multiple of the {epochs} epochs of {recipe}; "
            f"received {num_batches}; choose another number of batches, or "
            "--config.num_epochs"
        )
    found = [
        f"num_epochs={epochs}",
        f"steps_per_epoch={num_batches // epochs}",
        f"patience={epochs}",
    ]
    longer = run
    for override in [*found, *more]:
        longer = apply_override(longer, override)
    lengths = stretched(run, longer)
    return [*found, *(f"{field}={n}" for field, n in lengths.items())]


@checked_arguments()
def train_winner(
    search: str,
    num_batches: int,
    workdir: str,
    folds: list[int] | None = None,
    overrides: Sequence[str] = (),
) -> dict:
    """Trains and evaluates the winner; on folds, if the recipe has them.

    The section `search` of `results.json` then says where the values come from.

    Args:
        search: Folder of a finished search.
        num_batches: Batches of each training.
        workdir: Folder of the training.
        folds: Folds to train; None: all but the fold of the search.
        overrides: `field=value` for fields of the recipe.
    """
    from trainers.training.strategy import start_one_machine

    start_one_machine(overrides)
    recipe, fields = winning_overrides(search, num_batches, [*overrides])
    run = load_recipe(recipe, fields)
    origin = _origin(search, num_batches)  # before another trial is better
    print(
        f"Winner of {search}: --config {recipe} "
        + shlex.join(f"--config.{field}" for field in fields),
        flush=True,
    )
    if run.data.folds.num_folds:
        searched = _finished(pathlib.Path(search))
        own = load_recipe(recipe, searched["overrides"]).data.folds.fold
        cross_validate(recipe, workdir, folds, fields, tuning_fold=own)
    elif folds is not None:
        raise ValueError(f"{recipe} has no folds; leave out --folds")
    else:
        from trainers.evaluate import evaluate
        from trainers.train import train

        train(recipe, workdir, fields)
        evaluate(workdir, [])
    with open_workdir(workdir) as path:
        return update_results(path, search=origin)


def _origin(search: str, num_batches: int) -> dict:
    """The search, its winner, and the length of its training, for results."""
    found = _finished(pathlib.Path(search))
    return {
        **{field: found[field] for field in (*SAME, "overrides")},
        "trials": len(found["trials"]),
        **of_trials(found["recipe"], found["overrides"]),
        "trial": found["best"]["trial"],
        "values": found["best"]["values"],
        "objective_value": found["best"]["objective"],
        "batches": num_batches,
    }


def of_trials(recipe: str, given: list[str]) -> dict:
    """Returns the batches, the fold and the monitor of a search's trials.

    Args:
        recipe: The recipe of the search.
        given: Its overrides.
    """
    run = read_run(recipe, given)
    return {
        "trial_batches": run.training.num_epochs * run.training.steps_per_epoch,
        "fold": run.data.folds.fold,
        "monitor": run.training.monitor,
    }


def main(words=None) -> int:
    arguments = command_line.parse(parser(), words)
    return command_line.run(
        train_winner,
        arguments.search,
        arguments.batches,
        arguments.workdir,
        arguments.folds,
        arguments.overrides,
    )


if __name__ == "__main__":
    sys.exit(main())
