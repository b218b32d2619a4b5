"""Writes the files of a search: `trials.csv`, `results.json`, `best.py`."""

import csv
import io
import pathlib

from keras_tuner.engine.trial import TrialStatus

from embeddings_tf.ops.counted import counted
from trainers.config.run_config import config_of
from trainers.data.same_data import FINGERPRINTS
from trainers.workdirs.json_files import write_atomically
from trainers.workdirs.provenance import provenance
from trainers.workdirs.recipe_text import recipe_text
from trainers.workdirs.results import read_results
from trainers.workdirs.results import update_results
from trainers.workdirs.workdir import PLACE_FIELDS
from tuning.trial_files import CURE
from tuning.trial_files import objective_value

TRAINING = ("best_epoch", "epochs", "steps", "seconds")
MADE_BY = ("commit", "processor", "cores")


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
        **{name: results[name] for name in FINGERPRINTS},
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
        f"The best of {counted(len(oracle.end_order), 'trial')} of a random "
        "search.",
        "",
        f"Recipe: {search['recipe']}; space: {search['space']}; trial "
        f"{row['trial']}.",
        f"{search['objective']}: {row['objective']:.6g}, in epoch "
        f"{row['best_epoch']} of {row['epochs']}.",
        "",
        *(f"    {name} = {value!r}" for name, value in row["values"].items()),
    ]
    return recipe_text("\n".join(about), {**config_of(run), **PLACE_FIELDS})
