"""Random search: `python -m tuning.search --config R --space S --trials N ...`.

Each trial trains the recipe once, in its own workdir. If you start a killed
search again, it continues with the next trials, and an interrupted trial
continues from its last epoch.
"""

import argparse
import contextlib
import pathlib
import sys
import time
from collections.abc import Mapping
from collections.abc import Sequence
from types import MappingProxyType

from trainers import command_line
from trainers.checked_arguments import checked_arguments
from trainers.config import load_recipe
from trainers.config.load import load_function
from trainers.config.load import recipe_name
from trainers.config.run import Run
from trainers.config.run_config import config_of
from trainers.config.run_config import run_from_config
from trainers.terminal import command_names
from trainers.training import monitor
from trainers.workdirs.lock import open_workdir
from trainers.workdirs.require_outside_data import require_outside_data
from trainers.workdirs.workdir import claim
from trainers.workdirs.workdir import contains_run
from trainers.workdirs.workdir import folder_argument
from trainers.workdirs.workdir import require_same_code
from tuning.chief import leave_gpus
from tuning.chief import role_of_this_process
from tuning.chief import serve
from tuning.fixed_fields import fixed_fields
from tuning.full_length import kept_in_full
from tuning.full_length import to_full_length
from tuning.search_report import SearchReport
from tuning.search_report import save_trials_picture
from tuning.search_report import say_what_is_next

SPACES = pathlib.Path(__file__).parent / "spaces"
DIRECTIONS = ("min", "max")
# Time that a worker waits for its chief to start.
WAIT_SECONDS = 3600
# What must be equal when a search continues, besides the recipe.
SAME = ("space", "objective", "direction", "search_seed")


def space_names() -> list[str]:
    """Returns the names of the spaces that ship with the package."""
    return [path.stem for path in sorted(SPACES.glob("[a-z]*.py"))]


def parser() -> argparse.ArgumentParser:
    result = command_line.ArgumentParser(
        prog=command_names.display_name("tuning.search"),
        description="Search the hyperparameters of a recipe at random, or "
        "continue a search.",
        epilog="Any field of the recipe can be set for all trials: "
        "--config.field=value. Spaces: "
        + ", ".join(space_names())
        + f". `{command_names.display_name('trainers.train')} --list` "
        "shows the recipes.",
    )
    command_line.add_recipe(result)
    result.add_argument(
        "--space",
        required=True,
        metavar="NAME",
        help="name of a space, or path of a Python file with "
        "space(hyperparameters, config)",
    )
    result.add_argument(
        "--trials",
        type=int,
        required=True,
        metavar="N",
        help="number of trials, finished ones included",
    )
    result.add_argument(
        "--workdir", required=True, help="folder of the search and its trials"
    )
    result.add_argument(
        "--objective",
        metavar="NAME",
        help="a name in the training logs; its value in the epoch that is best "
        "by config.monitor counts (default: config.monitor)",
    )
    result.add_argument(
        "--direction",
        choices=DIRECTIONS,
        help="(default: min for losses, max for accuracies and their kind)",
    )
    result.add_argument(
        "--seed",
        type=int,
        default=0,
        help="random seed of the drawn values; trainings use config.seed "
        "(default: 0)",
    )
    result.add_argument(
        "--workers",
        type=int,
        default=0,
        metavar="N",
        help="processes of this machine that run trials side by side "
        "(default: this process alone)",
    )
    return result


@checked_arguments(direction=DIRECTIONS)
def search(
    recipe: str,
    workdir: str,
    overrides: Sequence[str] = (),
    *,
    space: str,
    num_trials: int,
    objective: str | None = None,
    direction: str | None = None,
    seed: int = 0,
    num_workers: int = 0,
) -> dict | None:
    """Runs the trials that a search still needs.

    Args:
        recipe: Name of a recipe, path of a Python file, or `config.json`.
        workdir: Folder of the search and its trials.
        overrides: `field=value` for fields of the recipe, in all trials.
        space: Name of a space, or path of a Python file.
        num_trials: Number of trials, finished ones included.
        objective: A name in the training logs; None: `config.monitor`.
        direction: `"min"` or `"max"`; None: as for the objective.
        seed: Random seed of the drawn values.
        num_workers: Processes that run trials side by side; 0: this one alone.

    Returns:
        The results; None in a worker of a search that another process leads.
    """
    run = load_recipe(recipe, overrides)
    draw = load_function(space, SPACES, "space", "space", space_names())
    folder_argument("--workdir", workdir)
    require_outside_data("--workdir", workdir, run.data.dataset)
    _check_numbers(num_trials, seed, num_workers)
    _require_one_process(run)
    role = role_of_this_process(num_workers)
    _start(role, run.training.strategy)
    name = run.training.monitor if objective is None else objective
    direction = direction or monitor.direction(name, "--objective")
    asked = {
        "recipe": recipe,
        "space": space,
        "objective": name,
        "direction": direction,
        "seed": run.training.seed,
        "search_seed": seed,
        "num_trials": num_trials,
        "workers": num_workers,
        "overrides": [*overrides],
    }
    if role == "worker":
        _work(pathlib.Path(workdir), run, draw, asked)
        return None
    with open_workdir(workdir) as path:
        tuner, results = _lead(path, role, run, draw, asked)
        full = _fields_of_full_length(draw, tuner, results)
        save_trials_picture(path, results)
    say_what_is_next(path, results, full)
    return results


def _check_numbers(num_trials: int, seed: int, num_workers: int) -> None:
    for flag, value, least in (
        ("--trials", num_trials, 1),
        ("--seed", seed, 0),
        ("--workers", num_workers, 0),
    ):
        if value < least:
            raise ValueError(
                f"{flag} must be at least {least}; received {value}"
            )


def _require_one_process(run: Run) -> None:
    if run.training.strategy == "multi_worker":
        raise ValueError(
            "config.strategy must be 'one' or 'mirrored' in a search, since a "
            "trial is one process; received 'multi_worker'; start one worker "
            "of the search per process"
        )


def _start(role: str, strategy: str) -> None:
    """Starts TensorFlow and imports keras-tuner, both quietly."""
    from trainers.terminal.quiet import import_tensorflow
    from trainers.terminal.quiet import quiet_import
    from trainers.training import strategy as strategies

    if role in ("alone", "worker"):
        strategies.start(strategy)
    else:  # hands out trials and leaves the devices to its workers
        import_tensorflow(leave_gpus)
    with quiet_import():
        import tuning.tuner  # noqa: F401


def _maker(run: Run, draw, asked: dict):
    """Returns a function from hyperparameters to a run of this search."""
    fixed = fixed_fields(run, run_maker(run, draw), asked["overrides"])
    return run_maker(run, draw, fixed)


def _tuner(path: pathlib.Path, make_run, asked: dict):
    import keras_tuner

    from tuning.tuner import Tuner

    return Tuner(
        make_run,
        recipe_name(asked["recipe"]),
        keras_tuner.Objective(asked["objective"], asked["direction"]),
        asked["num_trials"],
        asked["search_seed"],
        path,
    )


def _same(asked: dict) -> dict:
    return {field: asked[field] for field in SAME}


def _work(path: pathlib.Path, run: Run, draw, asked: dict) -> None:
    """Runs trials for a chief."""
    _check_recipe(run, asked["objective"])
    _wait_for_chief(path)
    contains_run(path, run, search=_same(asked))
    require_same_code(path, run)
    _tuner(path, _maker(run, draw, asked), asked).search()


def _lead(path: pathlib.Path, role: str, run: Run, draw, asked: dict) -> tuple:
    """Runs a search alone, or as the chief of workers.

    Args:
        path: Folder of the search, which this process has locked.
        role: From `role_of_this_process`.
        run: The recipe with its overrides.
        draw: The function of the space.
        asked: The arguments of the search, for its files.

    Returns:
        The tuner and the results.
    """
    is_claimed = contains_run(path, run, search=_same(asked))
    make_run = _maker(run, draw, asked)
    if not is_claimed:
        _check_recipe(run, asked["objective"])
    claim(path, recipe_name(asked["recipe"]), run, search=_same(asked))
    tuner = _tuner(path, make_run, asked)
    report = SearchReport(path, asked, tuner)
    try:
        if role == "alone":
            if is_claimed and not tuner.oracle.finished:
                _check_recipe(run, asked["objective"])
            tuner.search(report.update)
        else:
            words = words_of_worker(path, asked)
            serve(tuner, report, asked["workers"], words)
    except BaseException:
        with contextlib.suppress(OSError, ValueError):
            report.update()  # an error here would hide the first one
        raise
    return tuner, report.update()


def words_of_worker(path: pathlib.Path, asked: dict) -> list[str]:
    """Returns the command line of a worker of a search.

    Args:
        path: Folder of the search.
        asked: The arguments of the search, as in its results.
    """
    return [
        f"--config={asked['recipe']}",
        f"--space={asked['space']}",
        f"--trials={asked['num_trials']}",
        f"--workdir={path}",
        f"--objective={asked['objective']}",
        f"--direction={asked['direction']}",
        f"--seed={asked['search_seed']}",
        *(f"--config.{override}" for override in asked["overrides"]),
    ]


def _wait_for_chief(path: pathlib.Path) -> None:
    """Waits until the chief has written the config of the search.

    Raises:
        FileNotFoundError: If it did not within an hour.
    """
    file, give_up = path / "config.json", time.monotonic() + WAIT_SECONDS
    if not file.exists():
        print(f"Waiting for the chief, which writes {file}.", flush=True)
    while not file.exists():
        if time.monotonic() > give_up:
            raise FileNotFoundError(
                f"the chief did not write {file} within {WAIT_SECONDS} s; "
                "start the chief with the same --workdir, then this worker"
            )
        time.sleep(0.5)


def _fields_of_full_length(draw, tuner, results: dict) -> list[str]:
    """Returns the winner's values, drawn again into the full-length recipe."""
    best = results["best"]
    if best is None:
        return []
    recipe, overrides = results["recipe"], results["overrides"]
    kept = kept_in_full(recipe, overrides)
    make_full = run_maker(load_recipe(recipe, kept), draw)
    values = tuner.oracle.trials[best["trial"]].hyperparameters
    short, full = tuner.make_run(values.copy()), make_full(values.copy())
    return to_full_length(short, full, overrides)


def run_maker(run: Run, space, fixed: Mapping = MappingProxyType({})):
    """Returns a function from hyperparameters to a run.

    Args:
        run: The recipe with its overrides.
        space: The function of the space.
        fixed: Hyperparameters that keep a value, from `fixed_fields`.
    """
    import ml_collections

    def make_run(hyperparameters):
        for name, value in fixed.items():
            hyperparameters.Fixed(name, value)
        config = ml_collections.ConfigDict(config_of(run))
        try:
            with config.ignore_type():  # a schedule may replace a number
                space(hyperparameters, config)
        except ValueError:
            raise
        except Exception as error:
            raise ValueError(
                f"the space does not fit the recipe: {type(error).__name__}: "
                f"{error}"
            ) from error
        return run_from_config(config)

    return make_run


def _check_recipe(run: Run, objective: str) -> None:
    """Raises errors that would occur in every trial, before the first one."""
    from trainers.fit import check_recipe
    from trainers.training.monitor import require_logged

    model, held_out = check_recipe(run)
    require_logged("--objective", objective, model, held_out)


def main(words=None) -> int:
    arguments = command_line.parse(parser(), words)
    return command_line.run(
        search,
        arguments.config,
        arguments.workdir,
        arguments.overrides,
        space=arguments.space,
        num_trials=arguments.trials,
        objective=arguments.objective,
        direction=arguments.direction,
        seed=arguments.seed,
        num_workers=arguments.workers,
    )


if __name__ == "__main__":
    sys.exit(main())
