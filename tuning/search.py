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

from trainers import command_line
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
from tuning.full_length import kept_in_full
from tuning.full_length import to_full_length
from tuning.search_report import SearchReport
from tuning.search_report import save_trials_picture
from tuning.search_report import say_what_is_next

SPACES = pathlib.Path(__file__).parent / "spaces"
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
        choices=("min", "max"),
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


def search(arguments, words: list[str]) -> None:
    """Runs the search that `parser` describes; `words`: the command line."""
    run = load_recipe(arguments.config, arguments.overrides)
    space = load_function(
        arguments.space, SPACES, "space", "space", space_names()
    )
    folder_argument("--workdir", arguments.workdir)
    require_outside_data("--workdir", arguments.workdir, run.data.dataset)
    for name, least in (("trials", 1), ("seed", 0), ("workers", 0)):
        if getattr(arguments, name) < least:
            raise ValueError(
                f"--{name} must be at least {least}; received "
                f"{getattr(arguments, name)}"
            )
    if run.training.strategy == "multi_worker":
        raise ValueError(
            "config.strategy must be 'one' or 'mirrored' in a search, since a "
            "trial is one process; received 'multi_worker'; start one worker "
            "of the search per process"
        )
    role = role_of_this_process(arguments.workers)

    from trainers.terminal.quiet import import_tensorflow
    from trainers.terminal.quiet import quiet_import
    from trainers.training import strategy as strategies

    if role in ("alone", "worker"):
        strategies.start(run.training.strategy)
    else:  # hands out trials and leaves the devices to its workers
        import_tensorflow(leave_gpus)
    with quiet_import():
        import keras_tuner

        from tuning.tuner import Tuner

    name = arguments.objective
    if name is None:
        name = run.training.monitor
    direction = arguments.direction or monitor.direction(name, "--objective")
    asked = {
        "recipe": arguments.config,
        "space": arguments.space,
        "objective": name,
        "direction": direction,
        "seed": run.training.seed,
        "search_seed": arguments.seed,
        "num_trials": arguments.trials,
        "workers": arguments.workers,
        "overrides": arguments.overrides,
    }

    make_run = run_maker(run, space)
    recipe = recipe_name(arguments.config)

    def make_tuner(path):
        return Tuner(
            make_run,
            recipe,
            keras_tuner.Objective(name, direction),
            arguments.trials,
            arguments.seed,
            path,
        )

    same = {field: asked[field] for field in SAME}
    if role == "worker":
        _check_recipe(run, name)
        path = pathlib.Path(arguments.workdir)
        _wait_for_chief(path)
        contains_run(path, run, search=same)
        require_same_code(path, run)
        make_tuner(path).search()
        return

    with open_workdir(arguments.workdir) as path:
        is_claimed = contains_run(path, run, search=same)
        if not is_claimed:
            make_run(keras_tuner.HyperParameters())
            _check_recipe(run, name)
        claim(path, recipe, run, search=same)
        tuner = make_tuner(path)
        report = SearchReport(path, asked, tuner)
        try:
            if role == "alone":
                if is_claimed and not tuner.oracle.finished:
                    _check_recipe(run, name)
                tuner.search(report.update)
            else:
                serve(tuner, report, arguments, words)
        except BaseException:
            with contextlib.suppress(OSError, ValueError):
                report.update()  # an error here would hide the first one
            raise
        results = report.update()
        full = _fields_of_full_length(arguments, space, tuner, results)
        save_trials_picture(path, results)
    say_what_is_next(arguments, results, full)


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


def _fields_of_full_length(arguments, space, tuner, results) -> list[str]:
    """Returns the winner's values, drawn again into the full-length recipe."""
    best = results["best"]
    if best is None:
        return []
    kept = kept_in_full(arguments.config, arguments.overrides)
    make_full = run_maker(load_recipe(arguments.config, kept), space)
    values = tuner.oracle.trials[best["trial"]].hyperparameters
    short, full = tuner.make_run(values.copy()), make_full(values.copy())
    return to_full_length(short, full, arguments.overrides)


def run_maker(run: Run, space):
    """Returns a function from hyperparameters to a run."""
    import ml_collections

    def make_run(hyperparameters):
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
    words = sys.argv[1:] if words is None else words
    arguments = command_line.parse(parser(), words)
    return command_line.run(search, arguments, words)


if __name__ == "__main__":
    sys.exit(main())
