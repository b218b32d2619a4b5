"""Random search: `python -m tuning.search --config R --space S --trials N ...`.

Each trial trains the recipe once, in a workdir of its own. Started again after
a kill, the search goes on, and the trial that was running from its last epoch.
"""

import argparse
import contextlib
import os
import pathlib
import shlex
import socket
import sys
import threading
import time

from trainers import command_line
from trainers import monitor
from trainers.config import load_function
from trainers.config import load_recipe
from trainers.workdir import claim
from trainers.workdir import folder_argument
from trainers.workdir import open_workdir
from trainers.workdir import read_results
from trainers.workdir import require_free

SPACES = pathlib.Path(__file__).parent / "spaces"
CHIEF = ("KERASTUNER_TUNER_ID", "KERASTUNER_ORACLE_IP")
CHIEF += ("KERASTUNER_ORACLE_PORT",)
# The chief waits so long for workers to hear that the search is over.
FAREWELL_SECONDS = 10


def space_names() -> list[str]:
    """Names of the spaces that ship with the package."""
    return [path.stem for path in sorted(SPACES.glob("[a-z]*.py"))]


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m tuning.search",
        description="Search the hyperparameters of a recipe at random, or go "
        "on with a search.",
        epilog="Any field of the recipe can be set for all trials: "
        "--config.field=value. Spaces: "
        + ", ".join(space_names())
        + ". `python -m trainers.train --list` shows the recipes.",
    )
    result.add_argument(
        "--config",
        required=True,
        metavar="RECIPE",
        help="name of a recipe, or path of a Python file with get_config()",
    )
    result.add_argument(
        "--space",
        required=True,
        metavar="NAME",
        help="name of a space, or path of a Python file with "
        "space(hyperparameters, config)",
    )
    result.add_argument(
        "--trials", type=int, required=True, metavar="N", help="trials in all"
    )
    result.add_argument(
        "--workdir", required=True, help="folder of the search and its trials"
    )
    result.add_argument(
        "--objective",
        metavar="NAME",
        help="a name in the logs of the training, taken in the epoch that "
        "config.monitor found best (default: config.monitor)",
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
        help="of the values drawn; trainings have config.seed (default: 0)",
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
    """Runs what `parser` describes; `words` is the command line."""
    recipe = load_recipe(arguments.config, arguments.overrides)
    space = load_function(
        arguments.space, SPACES, "space", "space", space_names()
    )
    folder_argument("--workdir", arguments.workdir)
    for name, least in (("trials", 1), ("seed", 0), ("workers", 0)):
        if getattr(arguments, name) < least:
            raise ValueError(
                f"--{name} must be at least {least}; received "
                f"{getattr(arguments, name)}"
            )
    if recipe.strategy == "multi_worker":
        raise ValueError(
            "config.strategy='multi_worker' spreads one training over several "
            "processes; a trial is one process: give each to a worker of the "
            "search, with 'one' or 'mirrored'"
        )
    role = _role(arguments.workers)

    from trainers import strategy as strategies
    from trainers.quiet import import_tensorflow
    from trainers.quiet import quiet_import

    if role in ("alone", "worker"):
        strategies.start(recipe.strategy)
    else:  # hands out trials, and leaves the devices to others
        import_tensorflow(_leave_gpus)
    with quiet_import():
        import keras_tuner

        from tuning.tuner import Tuner

    name = arguments.objective or recipe.monitor
    direction = arguments.direction or monitor.direction(name, "--objective")
    asked = {
        "recipe": arguments.config,
        "space": arguments.space,
        "objective": name,
        "direction": direction,
        "seed": recipe.seed,
        "search_seed": arguments.seed,
        "workers": arguments.workers,
        "overrides": arguments.overrides,
    }

    make_config = config_maker(recipe, space)

    def make_tuner(path):
        return Tuner(
            make_config,
            arguments.config,
            keras_tuner.Objective(name, direction),
            arguments.trials,
            arguments.seed,
            path,
        )

    claimed = _claimed(recipe, asked)
    if role == "worker":
        _check_recipe(recipe, name)
        path = pathlib.Path(arguments.workdir)
        while not (path / "config.json").exists():  # until its chief is there
            time.sleep(0.5)
        claim(path, arguments.config, claimed)
        make_tuner(path).search()
        return

    with open_workdir(arguments.workdir) as path:
        is_claimed = require_free(path, arguments.config, claimed)
        if not is_claimed:
            make_config(keras_tuner.HyperParameters())
            _check_recipe(recipe, name)
            claim(path, arguments.config, claimed)
        tuner = make_tuner(path)
        progress = _Progress(path, asked, tuner)
        try:
            if role == "alone":
                if is_claimed and not tuner.oracle.finished:
                    _check_recipe(recipe, name)
                tuner.search(progress.show)
            else:
                _serve(tuner, progress, arguments, words)
        finally:
            results = progress.show()
        full = _fields_of_full_length(arguments, space, tuner, results)
    _say_what_is_next(arguments, results, full)


def _fields_of_full_length(arguments, space, tuner, results) -> list[str]:
    """The winner's values, drawn again into the recipe at its own length."""
    from tuning.report import kept_in_full
    from tuning.report import to_full_length

    best = results["best"]
    if best is None:
        return []
    kept = kept_in_full(arguments.overrides)
    make_full = config_maker(load_recipe(arguments.config, kept), space)
    values = tuner.oracle.trials[best["trial"]].hyperparameters
    short, full = tuner.make_config(values.copy()), make_full(values.copy())
    return to_full_length(short, full, arguments.overrides)


def config_maker(recipe, space):
    """From hyperparameters to a config: a recipe after a space's function."""

    def make_config(hyperparameters):
        config = recipe.copy_and_resolve_references().unlock()
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
        return config.lock()

    return make_config


def _role(num_workers: int) -> str:
    """What this process is: alone, chief, launcher or worker."""
    found = [name for name in CHIEF if name in os.environ]
    if not found:
        return "launcher" if num_workers else "alone"
    if len(found) < len(CHIEF):
        raise ValueError(
            f"a parallel search needs {', '.join(CHIEF)} in the environment; "
            f"there is only {', '.join(found)}"
        )
    if "chief" not in os.environ[CHIEF[0]]:
        return "worker"
    if num_workers:
        raise ValueError(
            "--workers starts a chief and workers on this machine; with "
            f"{CHIEF[0]} in the environment they are started by hand"
        )
    return "chief"


def _claimed(recipe, asked: dict):
    """What must be the same for a search to go on: all but its length."""
    import ml_collections

    fields = ("space", "objective", "direction", "search_seed")
    return ml_collections.ConfigDict(
        {
            **recipe.to_dict(),
            "search": {field: asked[field] for field in fields},
        }
    )


def _leave_gpus() -> None:
    """Starts TensorFlow on the CPU alone."""
    import tensorflow as tf

    tf.config.set_visible_devices([], "GPU")
    tf.config.list_logical_devices()


def _check_recipe(recipe, objective: str) -> None:
    """Raises what is wrong with all trials, before there are any."""
    from trainers.fit import check_recipe
    from trainers.monitor import require_logged

    model, held_out = check_recipe(recipe)
    require_logged("--objective", objective, model, held_out)


def _serve(tuner, progress, arguments, words: list[str]) -> None:
    """Chief of workers started by hand, or of processes started here."""
    oracle = tuner.oracle
    was_finished = oracle.finished
    if was_finished and arguments.workers:
        return
    if arguments.workers:
        os.environ.update(zip(CHIEF, ("chief", "127.0.0.1", ""), strict=True))
        os.environ[CHIEF[2]] = str(_free_port())
    else:
        _check_address()
        progress.say(
            f"Chief on {_address()}, "
            + (
                f"telling workers for {FAREWELL_SECONDS} s that it is over."
                if was_finished
                else "waiting for workers: the same command with a "
                f"{CHIEF[0]} other than chief."
            )
        )

    from tuning.local_workers import LocalWorkers

    # keras-tuner's server waits for dead workers for ever; this loop does not.
    server = threading.Thread(target=tuner.serve, daemon=True)
    server.start()
    farewell = None
    with (
        open(os.devnull, "w") as nowhere,
        # keras-tuner's server prints the values of conditions.
        contextlib.redirect_stdout(nowhere),
        LocalWorkers(
            arguments.workers, words, progress.path, oracle, progress.say
        ) as workers,
    ):
        # Who asks after a restart is known once it has asked.
        while farewell is None or (
            (oracle.tuner_ids or was_finished) and time.monotonic() < farewell
        ):
            time.sleep(0.2)
            if oracle.error is not None:
                raise oracle.error
            progress.show_if_changed()
            if oracle.finished:
                farewell = farewell or time.monotonic() + FAREWELL_SECONDS
            else:
                workers.check()
            if not server.is_alive() and not oracle.finished:
                raise OSError(
                    f"the chief cannot serve on {_address()}; choose another "
                    f"{CHIEF[1]} and {CHIEF[2]}"
                )


def _address() -> str:
    return f"{os.environ[CHIEF[1]]}:{os.environ[CHIEF[2]]}"


def _check_address() -> None:
    """Raises if the chief's port is taken, which gRPC would share."""
    try:
        with socket.create_server(
            (os.environ[CHIEF[1]], int(os.environ[CHIEF[2]]))
        ):
            pass
    except (OSError, ValueError, OverflowError) as error:
        raise OSError(
            f"the chief cannot listen on {_address()} ({error}); choose "
            f"another {CHIEF[1]} or {CHIEF[2]}"
        ) from error


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


class _Progress:
    """Writes the files of a search and prints a line for each trial."""

    def __init__(self, path: pathlib.Path, asked: dict, tuner):
        from tuning import report

        self.path, self.asked, self.tuner = path, asked, tuner
        self.out = sys.stdout
        self.started = time.monotonic()
        self.seconds_before = read_results(path).get("seconds", 0.0)
        report.rows(tuner.oracle)  # damaged ones are named now
        self.shown = len(tuner.oracle.end_order)
        if tuner.oracle.start_order:
            self.say(f"Going on after {self.shown} trials.")

    def say(self, text: str) -> None:
        print(text, file=self.out, flush=True)

    def show_if_changed(self) -> None:
        if len(self.tuner.oracle.end_order) != self.shown:
            self.show()

    def show(self) -> dict:
        from tuning import report

        seconds = self.seconds_before + time.monotonic() - self.started
        results = report.write(self.path, self.asked, self.tuner, seconds)
        oracle, best = self.tuner.oracle, results["best"]
        by_trial = {row["trial"]: row for row in results["trials"]}
        for trial in oracle.end_order[self.shown :]:
            row = by_trial.get(trial)
            if row is None:
                break  # ended since the table was made
            self.shown += 1
            text = row.get("message", "")
            if row["status"] == "completed":
                text = (
                    f"{oracle.objective.name} {row['objective']:.4f} in "
                    f"{row['seconds']:.0f} s"
                )
            self.say(
                f"Trial {trial}, {self.shown} of {oracle.max_trials}: "
                f"{row['status']}, {text}"
                + (
                    f"; best {best['objective']:.4f} in trial {best['trial']}"
                    if best
                    else ""
                )
            )
        return results


def _say_what_is_next(arguments, results: dict, full: list[str]) -> None:
    path, best = pathlib.Path(arguments.workdir), results["best"]
    table = results["trials"]
    if best is None:
        raise ValueError(
            f"none of {len(table)} trials succeeded; the first "
            f"{table[0]['status']}: {table[0]['message']}"
        )
    values = best["values"].items()
    print(
        f"\nBest of {len(table)} trials, {results['objective']} "
        f"{best['objective']:.4f}, trial {best['trial']}:\n"
        + "\n".join(f"    {name} = {value}" for name, value in values)
        + f"\nEvery trial: {path / 'trials.csv'}, {path / 'results.json'}\n"
        f"Next: {command_line.module_command('trainers.train')} --config "
        f"{shlex.quote(str(path / 'best.py'))} --workdir "
        f"{shlex.quote(str(path / 'best'))}"
        + "".join(f" {shlex.quote(f'--config.{field}')}" for field in full)
        + f"\nWatch: {command_line.module_command('tensorboard.main')} "
        f"--logdir {shlex.quote(str(path / 'trials'))}"
    )


def main(words=None) -> int:
    words = sys.argv[1:] if words is None else words
    arguments = command_line.parse(parser(), words)
    return command_line.run(search, arguments, words)


if __name__ == "__main__":
    sys.exit(main())
