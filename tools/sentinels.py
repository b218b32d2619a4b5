"""Writes which tables have a row that was rerun from its printed command.

    python -m tools.agree WORKDIR --record   # notes a rerun
    python -m tools.sentinels                # writes docs/results/reruns.md

A table of runs is an experiment, an evaluation and a data set. The result files
of a study are one table, too. Files of neither are listed below it.
"""

import collections
import json
import math
import pathlib

from tools import agree
from tools import best_trial
from tools import study_files
from tools.complete_config import complete_config
from tools.generated_text import ROOT
from tools.generated_text import write_between
from tools.rerun_command import rerun_command
from tools.run_files import run_recipe_and_config
from tools.run_files import run_results
from trainers.workdirs.json_files import write_json

FILE = ROOT / "benchmarks" / "results" / "sentinels.json"
PAGE = ROOT / "docs" / "results" / "reruns.md"
UNKNOWN = "not noted"
SEARCHES = "searches"
BEGIN, END = "<!-- sentinels: begin -->", "<!-- sentinels: end -->"


def sentinel(
    folder: pathlib.Path,
    path: pathlib.Path,
    committed: dict,
    rows: dict[str, tuple[float, float, float]],
    tolerance: float,
) -> dict:
    """Returns what is noted of a rerun.

    Args:
        folder: The folder of the rerun.
        path: The committed result file.
        committed: The section `training` of the run in this file.
        rows: Both values of each number that was compared, and their
            difference; NaN for a number that the rerun lacks.
        tolerance: The largest difference that agrees.

    Raises:
        ValueError: If the code of the rerun had changes, or was not a checkout.
    """
    found = run_recipe_and_config(folder)
    config = complete_config(found["config"])
    training = run_results(folder)["training"]
    _require_clean(folder, training["commit"])
    num_folds = config.get("folds", {}).get("num_folds")
    in_folds = num_folds and folder.name[:5] == "fold_"
    folds = [folder.name.removeprefix("fold_")] if in_folds else []
    return {
        "table": table_of(path, config),
        "file": str(path.relative_to(agree.RESULTS)),
        "command": rerun_command(
            found["recipe"], config, f"runs/{path.stem}", folds=folds
        ),
        **_compared(rows, tolerance),
        **_machine(training),
        "cores_of_result": committed["cores"],
    }


def of_study(
    path: pathlib.Path,
    committed: dict,
    new: dict,
    rows: dict[str, tuple[float, float, float]],
    tolerance: float,
) -> dict:
    """Returns what is noted of the rerun of a study.

    Args:
        path: The committed result file.
        committed: Its content.
        new: The content of the file of the rerun.
        rows: As for `sentinel`.
        tolerance: The largest difference that agrees.

    Raises:
        ValueError: If the code of the rerun had changes, or was not a checkout.
    """
    of_rerun = study_files.makings(new)
    for made in of_rerun:
        _require_clean(path.stem, made["commit"])
    return {
        "table": study_files.table_of(path),
        "file": str(path.relative_to(agree.RESULTS)),
        "command": study_files.command(path, committed),
        **_compared(rows, tolerance),
        **_machine(of_rerun[0]),
        "cores_of_result": study_files.makings(committed)[0]["cores"],
    }


def of_best_trial(
    search: pathlib.Path,
    workdir: pathlib.Path,
    rows: dict[str, tuple[float, float, float]],
    tolerance: float,
) -> dict:
    """Returns what is noted of a training of the best trial of a search.

    Args:
        search: The committed result file of the search.
        workdir: The folder of the training.
        rows: As for `sentinel`.
        tolerance: The largest difference that agrees.

    Raises:
        ValueError: If the code of the rerun had changes, or was not a checkout.
    """
    training = run_results(workdir)["training"]
    _require_clean(workdir, training["commit"])
    return {
        "table": SEARCHES,
        "file": str(search.relative_to(agree.RESULTS)),
        "command": best_trial.command(search),
        **_compared(rows, tolerance),
        **_machine(training),
        "cores_of_result": json.loads(search.read_text())["best"]["cores"],
    }


def _compared(rows, tolerance) -> dict:
    apart = [name for name, row in rows.items() if not row[2] <= tolerance]
    return {
        "numbers": len(rows),
        "agree": len(rows) - len(apart),
        "differ": sorted(apart),
        "largest_difference": max(
            (row[2] for row in rows.values() if not math.isnan(row[2])),
            default=0.0,
        ),
        "tolerance": tolerance,
    }


def _machine(made: dict) -> dict:
    return {name: made[name] for name in ("commit", "processor", "cores")}


def _require_clean(what, commit: str) -> None:
    if not _is_hash(commit):
        raise ValueError(
            f"{what} was trained or measured at the commit {commit!r}; "
            "expected a clean checkout. Commit the changes and run it again"
        )


def _is_hash(commit: str) -> bool:
    return len(commit) == 40 and set(commit) <= set("0123456789abcdef")


def table_of(path: pathlib.Path, config: dict) -> str:
    """Names a table: experiment, evaluation, data set."""
    evaluation = config["evaluation"]["name"]
    return f"{path.parent.name}, {evaluation}, {config['dataset']}"


def short_name(table_name: str) -> str:
    """Names a table for readers: its parts may be equal."""
    return ", ".join(dict.fromkeys(table_name.split(", ")))


def record(found: list[dict]) -> None:
    """Adds reruns to the file; of one command, the last is kept."""
    kept = {row["command"]: row for row in [*load(), *found]}
    rows = [kept[command] for command in sorted(kept)]
    write_json(FILE, {"reruns": rows})


def load() -> list[dict]:
    """Returns the noted reruns."""
    return json.loads(FILE.read_text())["reruns"] if FILE.exists() else []


def is_equal(row: dict) -> bool:
    """Whether all numbers of a rerun agree within its tolerance."""
    return row["agree"] == row["numbers"]


def equal_tables(found: list[dict]) -> set[str]:
    """Returns the tables whose reruns all agree with the results."""
    rerun = {row["table"] for row in found}
    return rerun - {row["table"] for row in found if not is_equal(row)}


def every_table() -> list[str]:
    """Returns the names of all tables with committed runs."""
    found = {
        table_of(path, config)
        for path, config in agree.committed_configs()
        if not study_files.is_study(path)
    }
    studies = {
        study_files.table_of(path)
        for pattern in ("*.json", "*/*.json")
        for path in agree.RESULTS.glob(pattern)
        if study_files.is_study(path)
    }
    return sorted(found | studies)


def table(found: list[dict]) -> str:
    """Returns the Markdown between the marks."""
    rerun = {row["table"] for row in found}
    tables = every_table()
    lines = [
        "| table | rerun | agree | largest difference | cores: result | rerun "
        "| commit |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for name in tables:
        shown = short_name(name)
        if name not in rerun:
            lines.append(f"| {shown} | no |  |  |  |  |  |")
        lines += [
            f"| {shown} | `{row['command']}` | {row['agree']} of "
            f"{row['numbers']} | {row['largest_difference']:.2g} | "
            f"{row['cores_of_result']} | {row.get('cores', UNKNOWN)} | "
            f"{row['commit'][:7]} |"
            for row in found
            if row["table"] == name
        ]
    return "\n".join([*lines, *_summary(found, tables)])


def _summary(found: list[dict], tables: list[str]) -> list[str]:
    """What the table shows, and which results it leaves out."""
    rerun = {row["table"] for row in found}.intersection(tables)
    equal = equal_tables(found).intersection(tables)
    in_one = {row["table"] for row in found if is_equal(row)} & rerun
    apart = [name for name in tables if name in rerun - in_one]
    lines = [
        "",
        f"{len(rerun)} of {len(tables)} groups of tables have a rerun. In "
        f"{len(in_one)} of them, at least one rerun agrees in all numbers; in "
        f"{len(equal)}, all reruns do.",
    ]
    if apart:
        names = "; ".join(map(short_name, apart))
        lines[-1] += f" In these, no rerun does: {names}."
    if early := sum("cores" not in row for row in found):
        lines[-1] += (
            f" {early} of {len(found)} reruns were noted before the number of "
            "cores was, and before extremes were left out."
        )
    counts = ", ".join(f"`{n}` ({c})" for n, c in not_covered().items())
    of_searches = [row for row in found if row["table"] == SEARCHES]
    rerun_files = {row["file"] for row in of_searches}
    equal_files = {row["file"] for row in filter(is_equal, of_searches)}
    every = len([*(agree.RESULTS / SEARCHES).glob("*.json")])
    return [
        *lines,
        "",
        f"{len(rerun_files)} of {every} searches have a rerun of all trials, "
        f"or of the best one; {len(equal_files)} have one that agrees.",
        "",
        "The table leaves out result files that are neither the evaluation of "
        f"a single run nor a study, by folder: {counts}; and the files of "
        "measurements.",
    ]


def not_covered() -> dict[str, int]:
    """Counts result files that no table has, by folder."""
    covered = {path for path, _ in agree.committed_configs()}
    others = collections.Counter(
        path.parent.name
        for path in sorted(agree.RESULTS.glob("*/*.json"))
        if path not in covered and not study_files.is_study(path)
    )
    return dict(others)


def main() -> None:
    write_between(PAGE, BEGIN, END, table(load()))
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
