"""Writes all numbers of the committed runs to one CSV file.

    python -m tools.results_csv

Reads the result files in `benchmarks/results` and writes
`docs/results/results.csv`, one line per number of the evaluation of a recipe.
A line contains:

- the mean over folds (or runs) of the means over seeds;
- its standard error over folds, and the numbers of folds and seeds;
- the published number, if there is one;
- the command that repeats the runs of the first seed.
"""

import collections
import functools
import json
import pathlib
from collections.abc import Iterator

from tools import n_digit_grid
from tools import n_digit_table
from tools import omniglot_table
from tools import out_of_distribution_table as unknown
from tools.agree import NOT_COMPARED
from tools.agree import ROOT
from tools.one_config import require_one_config
from tools.one_config import without_start
from tools.rerun_command import own_fields
from tools.rerun_command import rerun_command
from tools.sampler_series import series_of
from trainers.workdirs.numbers_by_name import numbers_by_name

RESULTS = ROOT / "benchmarks" / "results"
FILE = ROOT / "docs" / "results" / "results.csv"
# Experiments of single trainings, which studies repeat with other fields.
SINGLE_RUNS = (
    "n_digit",
    "omniglot",
    "colour_orientation",
    "uncertainty",
    "out_of_distribution",
)
# Runs with equal values in these columns belong to one line.
CELL = ["experiment", "recipe", "data", "protocol", "number"]


def numbers() -> Iterator[dict]:
    """Yields every number of every committed run, with its origin.

    Raises:
        ValueError: If runs of one line differ in more than seed and fold.
    """
    configs = collections.defaultdict(dict)
    for path in sorted(RESULTS.glob("*/*.json")):
        experiment = path.parent.name
        if experiment != "searches":
            found = json.loads(path.read_text())
            for name, config, run in _runs(found):
                rows = [*_of_run(experiment, path, found, name, config, run)]
                yield from rows
                for row in rows[:1]:
                    cell = tuple(row[column] for column in CELL[:-1])
                    configs[cell][path.name, name] = without_start(config, run)
    for cell, of_cell in configs.items():
        require_one_config(", ".join(cell), of_cell)


def _runs(found: dict) -> Iterator[tuple[str, dict, dict]]:
    """Yields name, config and content of each run in a result file."""
    if "folds" in found:
        for fold, run in found["folds"].items():
            yield f"fold_{fold}", found["config"], run
    elif "runs" in found:
        for name, run in found["runs"].items():
            yield name, run["config"], run
    elif "evaluation" in found:
        yield "run", n_digit_table.config_of(found), found
    elif unknown.SECTION in found:
        section = found[unknown.SECTION]
        splits = section["settings"]["splits"]
        evaluation = {split: section[split] for split in splits}
        yield "run", found["config"], {**found, "evaluation": evaluation}


def _of_run(experiment, path, found, name, config, run) -> Iterator[dict]:
    is_fold = name.startswith("fold_")
    folds = [n.removeprefix("fold_") for n in found.get("folds", ())]
    of_unknown = unknown.SECTION in found and "evaluation" not in found
    # A study trains for another time, and with other samplers.
    study = series_of({"recipe": found["recipe"], "config": config})
    row = {
        "experiment": experiment,
        "recipe": found["recipe"],
        "data": config["dataset"],
        "protocol": _protocol(
            experiment, found["recipe"], config, name, is_fold
        ),
        "fold": name,
        "seed": config["seed"],
        "commit": run["training"]["commit"][:7],
        "processor": run["training"]["processor"],
        "command": unknown.command(found)
        if of_unknown
        else rerun_command(
            found["recipe"],
            config,
            f"runs/{path.stem}",
            folds=folds,
            initial_run=run.get("initial_run"),
        ),
    }
    if of_unknown:
        settings = ", ".join(unknown.evaluated_name(found))
        row["protocol"] = f"{row['protocol']}, {settings}"
    for number, value in numbers_by_name(run["evaluation"]).items():
        if number.partition(".")[0] not in NOT_COMPARED:
            published = None
            if study is None:
                published = _published(found["recipe"], number)
            yield {
                **row,
                "number": number,
                "value": value,
                "published": published,
            }


def _protocol(experiment, recipe, config, name, is_fold) -> str:
    """Distinguishes runs of a recipe that do not repeat one another."""
    if experiment in SINGLE_RUNS:
        rate = config["optimizer"]["learning_rate"]["initial_learning_rate"]
        steps = config["num_epochs"] * config["steps_per_epoch"]
        others = n_digit_table.other_settings(
            {"recipe": recipe, "config": config}
        )
        others = [s for s in others if not s.startswith("dataset=")]
        others += [
            f"{name.rpartition('.')[2]}={value}"
            for name, value in own_fields(recipe, config).items()
        ]
        return ", ".join([f"rate {rate:g}, {steps} episodes", *others])
    if experiment == "distance_depth":
        units = config["objective"]["distance"]["hidden_units"]
        return f"{len(units)} hidden layers"
    return "folds" if is_fold else name


def _published(recipe: str, number: str) -> float | None:
    """Returns the paper's number, as a fraction."""
    rule = n_digit_grid.published_rule(recipe)
    names = [f"{split}.{name}.{rule}" for split, name in n_digit_grid.CELLS]
    values = n_digit_grid.PUBLISHED.get(recipe, ())
    published = dict(zip(names, values, strict=False))
    published |= _published_of_characters().get(recipe, {})
    return round(published[number] / 100, 6) if number in published else None


@functools.cache
def _published_of_characters() -> dict[str, dict[str, float]]:
    """Accuracies in % of Table D.1, by recipe and name of the number."""
    found = collections.defaultdict(dict)
    for (condition, method), values in omniglot_table.PUBLISHED.items():
        for column, value in zip(omniglot_table.COLUMNS, values, strict=True):
            recipe = omniglot_table.recipe(column[0], method, condition)
            split = omniglot_table.split(*column)
            found[recipe][f"{split}.{condition}.{n_digit_grid.EPISODES}"] = (
                value
            )
    return found


def table():
    """Returns the lines of the file as a `pandas.DataFrame`."""
    import pandas

    frame = pandas.DataFrame(numbers())
    of_fold = frame.groupby([*CELL, "fold"], as_index=False).agg(
        value=("value", "mean"), seeds=("seed", "nunique")
    )
    cells = of_fold.groupby(CELL, as_index=False).agg(
        mean=("value", "mean"),
        standard_error=("value", "sem"),
        folds=("fold", "nunique"),
        seeds=("seeds", "max"),
    )
    about = frame.sort_values("seed", kind="stable").groupby(
        CELL, as_index=False
    )
    about = about.agg(
        published=("published", "first"),
        commits=("commit", lambda values: " ".join(sorted(set(values)))),
        processor=("processor", "first"),
        command=("command", "first"),
    )
    return cells.merge(about, on=CELL, validate="one_to_one")


def text() -> str:
    """Returns the file as text, numbers with nine digits."""
    return table().to_csv(index=False, float_format="%.9g")


def main() -> None:
    from trainers.workdirs.json_files import write_atomically

    FILE.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(pathlib.Path(FILE), text())
    print(f"wrote {FILE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
