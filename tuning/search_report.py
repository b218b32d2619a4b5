"""Writes the files and the output of a search, during it and at its end."""

import pathlib
import shlex
import sys
import time

from trainers.config import load_recipe
from trainers.terminal import command_names
from trainers.workdirs.results import read_results
from tuning.full_length import kept_in_full


class SearchReport:
    """Writes the files of a search and prints a line for each trial."""

    def __init__(self, path: pathlib.Path, asked: dict, tuner):
        from embeddings_tf.ops.counted import counted
        from tuning import search_files

        self.path, self.asked, self.tuner = path, asked, tuner
        self.out = sys.stdout
        self.started = time.monotonic()
        self.seconds_before = _seconds_before(path)
        search_files.rows(
            tuner.oracle
        )  # reports damaged files before any trial
        self.shown = len(tuner.oracle.end_order)
        if tuner.oracle.start_order:
            self.say(f"Resuming after {counted(self.shown, 'trial')}.")

    def say(self, text: str) -> None:
        print(text, file=self.out, flush=True)

    def update_if_changed(self) -> None:
        if len(self.tuner.oracle.end_order) != self.shown:
            self.update()

    def update(self) -> dict:
        """Writes the files, and prints a line for each new trial."""
        from trainers.terminal.progress import time_left
        from tuning import search_files

        seconds = self.seconds_before + time.monotonic() - self.started
        results = search_files.write(self.path, self.asked, self.tuner, seconds)
        oracle, best = self.tuner.oracle, results["best"]
        total = oracle.max_trials
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
                f"Trial {trial}, {self.shown} of {total}: "
                f"{row['status']}, {text}"
                + (
                    f"; best {best['objective']:.4f} in trial {best['trial']}"
                    if best
                    else ""
                )
                + time_left([seconds / self.shown] * self.shown, total)
            )
        return results


def _seconds_before(path: pathlib.Path) -> float:
    """Returns how long a search has run; 0 if it is new."""
    seconds = read_results(path).get("seconds", 0.0)
    if not isinstance(seconds, int | float):
        raise ValueError(
            f"{path / 'results.json'} is damaged (seconds={seconds!r} is not a "
            "number); move it away and start the same command again, which "
            "writes it from the trials"
        )
    return seconds


def save_trials_picture(path: pathlib.Path, results: dict) -> None:
    """Draws the completed trials into `search.png`, if there are any."""
    trials = [t for t in results["trials"] if t["status"] == "completed"]
    if not trials:
        return
    from embeddings_tf import viz
    from trainers.terminal.pictures import save_picture

    save_picture(
        lambda: viz.trials_figure(
            [trial["values"] for trial in trials],
            [trial["objective"] for trial in trials],
            results["objective"],
            direction=results["direction"],
            title=f"{results['recipe']}, space {results['space']}",
        ),
        path / "search.png",
    )


def _folds_of_winner(path: pathlib.Path, results: dict) -> str:
    """The command that trains the winner on the other folds, or nothing."""
    recipe = results["recipe"]
    run = load_recipe(recipe, kept_in_full(recipe, results["overrides"]))
    if not run.data.folds.num_folds:
        return ""
    batches = run.training.num_epochs * run.training.steps_per_epoch
    return (
        f"\nOther folds: {command_names.shell_command('tuning.winner')} "
        f"--search {shlex.quote(str(path))} --batches {batches} "
        f"--workdir {shlex.quote(str(path / 'folds'))}"
    )


def say_what_is_next(
    path: pathlib.Path, results: dict, full: list[str]
) -> None:
    """Prints the best trial and the commands that train it.

    Args:
        path: Folder of the search.
        results: Its results.
        full: Overrides with which the best trial has the full length.

    Raises:
        ValueError: If no trial succeeded.
    """
    from embeddings_tf.ops.counted import counted

    best, table = results["best"], results["trials"]
    if best is None:
        raise ValueError(
            f"none of {counted(len(table), 'trial')} succeeded; the first "
            f"{table[0]['status']}: {table[0]['message']}"
        )
    values = best["values"].items()
    print(
        f"\nBest of {counted(len(table), 'trial')}, {results['objective']} "
        f"{best['objective']:.4f}, trial {best['trial']}:\n"
        + "\n".join(f"    {name} = {value}" for name, value in values)
        + f"\nEvery trial: {path / 'trials.csv'}, {path / 'results.json'}\n"
        f"Next: {command_names.shell_command('trainers.train')} --config "
        f"{shlex.quote(str(path / 'best.py'))} --workdir "
        f"{shlex.quote(str(path / 'best'))}"
        + "".join(f" {shlex.quote(f'--config.{field}')}" for field in full)
        + _folds_of_winner(path, results)
        + f"\nWatch: {command_names.shell_command('tensorboard.main')} "
        f"--logdir {shlex.quote(str(path / 'trials'))}"
    )
