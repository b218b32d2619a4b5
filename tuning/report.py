"""Writes the files of a search: `trials.csv`, `results.json`, `best.py`."""

import csv
import io
import pathlib

from keras_tuner.engine.trial import TrialStatus

from trainers.config.load import read_run
from trainers.config.run_config import config_of
from trainers.workdirs.numbers_by_name import numbers_by_name
from trainers.workdirs.provenance import provenance
from trainers.workdirs.recipe_text import recipe_text
from trainers.workdirs.same_data import FINGERPRINTS
from trainers.workdirs.workdir import PLACE_FIELDS
from trainers.workdirs.workdir import read_results
from trainers.workdirs.workdir import update_results
from trainers.workdirs.workdir import write_atomically
from tuning.trial_files import CURE
from tuning.trial_files import objective_value

TRAINING = ("best_epoch", "epochs", "steps", "seconds")
MADE_BY = ("commit", "processor", "cores")
# Last parts of the names of fields that set the length of a training.
LENGTHS = (
    "num_epochs",
    "steps_per_epoch",
    "patience",
    "decay_steps",
    "warmup_steps",
)


def names_in(oracle) -> list[str]:
    """Returns the names of hyperparameters, in the order of the space."""
    every = [hp.name for hp in oracle.hyperparameters.space]
    return list(dict.fromkeys(every))


def rows(oracle) -> list[dict]:
    """Returns one row per trial that has ended, in the order of drawing.

    Raises:
        ValueError: If the results of a trial are missing or damaged.
    """
    names = names_in(oracle)
    return [
        _row(oracle, oracle.trials[trial_id], names)
        for trial_id in oracle.start_order
        if trial_id in oracle.end_order
    ]


def _row(oracle, trial, names: list[str]) -> dict:
    """Returns the row of a trial, with the values of these names."""
    values = trial.hyperparameters.values  # in any order from a worker
    row = {
        "trial": trial.trial_id,
        "values": {name: values[name] for name in names if name in values},
    }
    is_completed = trial.status == TrialStatus.COMPLETED
    section = "training" if is_completed else "failure"
    file = oracle.folder(trial.trial_id) / "results.json"
    results = read_results(file.parent)
    if not isinstance(results.get(section), dict):
        raise ValueError(
            f"{file} is missing or damaged (it has no {section}); {CURE}"
        )
    try:
        if is_completed:
            return row | _training(results, oracle.objective.name)
        return row | _failure(results["failure"])
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"{file} is damaged ({type(error).__name__}: {error}); {CURE}"
        ) from error


def _training(results: dict, objective: str) -> dict:
    """Returns the columns of a completed trial."""
    training = results["training"]
    return {
        "status": "completed",
        "objective": float(objective_value(training, objective)),
        **{name: training[name] for name in (*TRAINING, *MADE_BY)},
        "seconds": float(training["seconds"]),
        # Older trials lack fingerprints of their data.
        **{name: results[name] for name in FINGERPRINTS if name in results},
    }


def _failure(failure: dict) -> dict:
    """Returns the columns of another trial, with its status and message."""
    for name in ("status", "message"):
        if not isinstance(failure[name], str):
            raise TypeError(f"{name} is {failure[name]!r}")
    return failure


def best(table: list[dict], direction: str) -> dict | None:
    """Returns the best row, the first if several are equal, or None."""
    completed = [row for row in table if row["status"] == "completed"]
    if not completed:
        return None
    pick = max if direction == "max" else min
    return pick(completed, key=lambda row: row["objective"])


def write(path: pathlib.Path, search: dict, tuner, seconds: float) -> dict:
    """Writes all files of a search, each atomically; returns the results.

    Args:
        path: Folder of the search.
        search: The arguments of the search: recipe, space, objective etc.
        tuner: The `Tuner` of this process, or of the chief.
        seconds: Wall-clock time of the search so far.
    """
    oracle = tuner.oracle
    table = rows(oracle)
    winner = best(table, oracle.objective.direction)
    for name, kind in FINGERPRINTS.items():
        if len({row[name] for row in table if name in row}) > 1:
            raise ValueError(
                f"the trials of {path} had different {kind} data, so their "
                "objectives cannot be compared; put the data back, and search "
                "anew in another --workdir"
            )
    write_atomically(path / "trials.csv", as_csv(table, names_in(oracle)))
    if winner is not None:
        values = oracle.trials[winner["trial"]].hyperparameters.copy()
        run = tuner.make_run(values)
        write_atomically(
            path / "best.py", as_recipe(run, winner, search, oracle)
        )
    return update_results(
        path,
        **search,
        finished=oracle.finished,
        best=winner,
        trials=table,
        seconds=round(seconds, 1),
        **provenance(),
    )


def as_csv(table: list[dict], names: list[str]) -> str:
    """Returns the table as CSV with a column for each hyperparameter."""
    columns = ("trial", "status", "objective", *TRAINING)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, *names, "message"])
    for row in table:
        writer.writerow(
            [
                *(row.get(name, "") for name in columns),
                *(row["values"].get(name, "") for name in names),
                row.get("message", ""),
            ]
        )
    return text.getvalue()


def as_recipe(run, row: dict, search: dict, oracle) -> str:
    """Returns a recipe file that contains every field of a trial.

    Folders of data and the strategy are left out, as in every recipe.
    """
    about = [
        f"The best of {len(oracle.end_order)} trials of a random search.",
        "",
        f"Recipe: {search['recipe']}; space: {search['space']}; trial "
        f"{row['trial']}.",
        f"{search['objective']}: {row['objective']:.6g}, in epoch "
        f"{row['best_epoch']} of {row['epochs']}.",
        "",
        *(f"    {name} = {value!r}" for name, value in row["values"].items()),
    ]
    return recipe_text("\n".join(about), {**config_of(run), **PLACE_FIELDS})


def kept_in_full(recipe: str, overrides: list[str]) -> list[str]:
    """Returns the overrides of a search that do not shorten its trainings.

    A length that the recipe does not have stays. Only the steps of a decay that
    the overrides themselves begin are stretched with the training, so that the
    decay ends, after its warm-up, where it ended before.
    """
    own = numbers_by_name(config_of(read_run(recipe)))
    full, short = (
        run.training.num_epochs * run.training.steps_per_epoch
        for run in (read_run(recipe), read_run(recipe, overrides))
    )
    parts = [override.partition("=") for override in overrides]
    parts = [(n.removeprefix("training."), value) for n, _, value in parts]
    given, kept = dict(parts), []
    for override, (name, value) in zip(overrides, parts, strict=True):
        schedule, _, last = name.rpartition(".")
        begun = name not in own or f"{schedule}.name" in given
        if begun and last == "decay_steps":
            warmup = given.get(f"{schedule}.warmup_steps")
            warmup = float(warmup or own.get(f"{schedule}.warmup_steps") or 0)
            end = (float(value) + warmup) * full / short
            kept.append(f"{name}={round(end - warmup)}")
        elif begun or last not in LENGTHS:
            kept.append(override)
    return kept


def kept_places(overrides: list[str]) -> list[str]:
    """Returns the overrides of folders and devices, which no recipe sets."""
    return [
        override
        for override in overrides
        if override.partition("=")[0].rpartition(".")[2] in PLACE_FIELDS
    ]


def to_full_length(short, full, overrides: list[str]) -> list[str]:
    """Returns overrides with which `best.py` trains for the recipe's length.

    Args:
        short: The winner's run.
        full: The run with the same values and the recipe's own length.
        overrides: Overrides of the search. The result includes overrides of
            folders and devices, which `best.py` does not set.
    """
    found = kept_places(overrides)
    # Fields that set a length are numbers.
    before, after = (
        numbers_by_name(config_of(short)),
        numbers_by_name(config_of(full)),
    )
    for name, value in after.items():
        if before[name] != value:
            found.append(f"{name}={value}")
    return found
