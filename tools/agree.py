"""Compares a rerun with the committed result of the same run.

    python -m tools.agree WORKDIR [--tolerance 0.005] [--record]
    python -m tools.agree CHECKOUT/benchmarks/results/trust/NAME.json

Finds the committed run with the same recipe, fields and seed, and compares
every number of the evaluation, except durations, settings and extremes. An
extreme, such as the largest violation of the triangle inequality, comes from a
single pair or angle, so rounding can change it much.
Runs on the same kind of machine agree to about 1e-6. Other processors round
differently, and training amplifies the rounding: expect differences of about
0.001 in rates.

A file is the rerun of a study (`tools/study_files.py`) in another checkout. It
is compared with the committed file of the same name. A training of the best
trial of a search is compared with the search (`tools/best_trial.py`).

`--record` notes the rerun in `benchmarks/results/sentinels.json`, whether it
agrees or not; `python -m tools.sentinels` makes a table of it.

Exit code: 0 if all numbers agree, 1 if some do not, 2 if no committed result
matches.
"""

import argparse
import json
import math
import pathlib
import sys
from collections.abc import Iterator

from tools.complete_config import complete_config
from tools.run_files import run_config
from tools.run_files import run_results
from trainers.workdirs.numbers_by_name import numbers_by_name
from trainers.workdirs.workdir import PLACE_FIELDS

ROOT = pathlib.Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
NOT_COMPARED = ("seconds", "cores", "settings", "load")
# Last parts of names: the extreme of all pairs, and the best of all angles.
EXTREMES = (
    "largest_self_distance",
    "largest_asymmetry",
    "largest_triangle_excess",
    "angle",
    "aligned_sum",
)
# Names of a number in files of benchmarks/results, and its name now. Files with
# both have the same number twice.
FORMER_NAMES = {"reject_area": "area_under_risk_coverage"}


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m tools.agree",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument(
        "workdir",
        type=pathlib.Path,
        help="folder of an evaluated run, or of a cross-validation; or the "
        "result file of a study",
    )
    result.add_argument(
        "--tolerance",
        type=float,
        default=0.005,
        help="largest allowed difference between two numbers (%(default)s)",
    )
    result.add_argument(
        "--record",
        action="store_true",
        help="note the runs in benchmarks/results/sentinels.json",
    )
    return result


def agree(workdir: pathlib.Path, tolerance: float, record: bool = False) -> int:
    """Compares all runs of a workdir; prints, and returns the exit code."""
    from tools import best_trial
    from tools import sentinels

    if workdir.is_file():
        return agree_study(workdir, tolerance, record)
    if search := best_trial.search_of(workdir):
        return agree_best_trial(search, workdir, tolerance, record)
    committed = dict(committed_runs())
    compared, worst, found = 0, [], []
    for name, key, new in runs_of(workdir):
        if key not in committed:
            continue
        compared += 1
        kept, path = committed[key]
        rows = differences(kept["evaluation"], new)
        far = {n: row for n, row in rows.items() if not row[2] <= tolerance}
        if record:
            found.append(
                sentinels.sentinel(
                    pathlib.Path(name), path, kept["training"], rows, tolerance
                )
            )
        _say(name, path, rows, far, tolerance)
        worst += [(name, number, *row) for number, row in far.items()]
    _say_worst(worst)
    if not compared:
        print(
            f"error: no committed result has the recipe, fields and seed of "
            f"{workdir}",
            file=sys.stderr,
        )
        return 2
    if found:
        sentinels.record(found)
    return 1 if worst else 0


def agree_study(file: pathlib.Path, tolerance: float, record: bool) -> int:
    """Compares a study with the committed one; prints, returns the code."""
    from tools import sentinels
    from tools import study_files

    path = RESULTS / study_files.kept_path(file)
    if not study_files.is_study(file) or not path.is_file():
        print(
            f"error: no committed study is {file.parent.name}/{file.name}; "
            f"expected a file in a folder {', '.join(study_files.FOLDERS)}; "
            f"or a file {', '.join(study_files.SINGLE)} (.json)",
            file=sys.stderr,
        )
        return 2
    if file.resolve() == path.resolve():
        raise ValueError(
            f"{file} is the committed file itself; expected the file of a "
            "rerun in another checkout"
        )
    kept, new = (json.loads(p.read_text("utf-8")) for p in (path, file))
    if _protocol(kept) != _protocol(new):
        print(
            f"error: {file} has another recipe, other fields or other trials "
            f"than {path.relative_to(RESULTS)}; expected a run of its command",
            file=sys.stderr,
        )
        return 2
    rows = apart(*map(study_files.numbers, (kept, new)))
    if record:
        sentinels.record([sentinels.of_study(path, kept, new, rows, tolerance)])
    name = study_files.kept_path(file).with_suffix("")
    return _say_all(name, path, rows, tolerance)


def agree_best_trial(
    search: pathlib.Path, workdir: pathlib.Path, tolerance: float, record: bool
) -> int:
    """Compares a training of the best trial of a search with the search."""
    from tools import best_trial
    from tools import sentinels

    rows = best_trial.differences(search, workdir)
    if record:
        found = sentinels.of_best_trial(search, workdir, rows, tolerance)
        sentinels.record([found])
    return _say_all(workdir, search, rows, tolerance)


def _say_all(name, path, rows, tolerance) -> int:
    """Prints a comparison, and returns the exit code."""
    far = {n: row for n, row in rows.items() if not row[2] <= tolerance}
    _say(name, path, rows, far, tolerance)
    _say_worst([(name, number, *row) for number, row in far.items()])
    return 1 if far else 0


def _protocol(study: dict) -> object:
    """Returns what a repetition must share, None if the file does not say."""
    from tools import study_files

    if study_files.is_search(study):
        return study_files.drawn(study)
    if "config" in study:
        recipe = study.get("recipe") or study["encoder"]
        return key(recipe, study["config"])
    return None


def _say(name, path, rows, far, tolerance) -> None:
    largest = max((row[2] for row in rows.values()), default=0.0)
    print(
        f"{name} and {path.relative_to(RESULTS)}: {len(rows) - len(far)} "
        f"of {len(rows)} numbers agree within {tolerance:g}; the largest "
        f"difference is {largest:.2g}"
    )


def _say_worst(worst: list[tuple]) -> None:
    for name, number, kept, new, difference in worst:
        print(
            f"  {name}: {number} was {kept:.6g}, is {new:.6g} "
            f"(difference {difference:.2g})"
        )


def runs_of(workdir: pathlib.Path) -> Iterator[tuple[str, str, dict]]:
    """Yields name, key and evaluation of a run, or of folds in a folder."""
    for folder in (workdir, *sorted(workdir.glob("fold_*"))):
        results = folder / "results.json"
        if not results.is_file():
            continue
        found = run_results(folder)
        if "evaluation" in found:
            config = run_config(folder)
            yield str(folder), key(found["recipe"], config), found["evaluation"]


def committed_runs() -> Iterator[tuple[str, tuple[dict, pathlib.Path]]]:
    """Yields keys of all committed runs, with the run and its result file."""
    for path, recipe, config, run in committed():
        yield key(recipe, config), (run, path)


def committed_configs() -> Iterator[tuple[pathlib.Path, dict]]:
    """Yields result file and config of all committed runs."""
    for path, _, config, _ in committed():
        yield path, complete_config(config)


def committed() -> Iterator[tuple[pathlib.Path, str, dict, dict]]:
    """Yields file, recipe, config and content of all committed runs."""
    from tools.n_digit_table import config_of

    for path in sorted(RESULTS.glob("*/*.json")):
        found = json.loads(path.read_text())
        if path.parent.name == "searches":
            continue
        if "folds" in found:
            for fold, run in found["folds"].items():
                folds = {**found["config"]["folds"], "fold": int(fold)}
                config = {**found["config"], "folds": folds}
                yield path, found["recipe"], config, run
        elif "runs" in found:
            for run in found["runs"].values():
                yield path, found["recipe"], run["config"], run
        elif "evaluation" in found:
            yield path, found["recipe"], config_of(found), found


def key(recipe: str, config: dict) -> str:
    """Returns a key that a run and its repetition share."""
    fields = complete_config(config).items()
    kept = {n: v for n, v in fields if n not in PLACE_FIELDS}
    return json.dumps([recipe, kept], sort_keys=True)


def differences(kept: dict, new: dict) -> dict[str, tuple[float, float, float]]:
    """Returns both values and their difference, by the name of the number.

    A number that the rerun lacks differs by NaN, which exceeds any
    tolerance. A measure that only the rerun has is left out.
    """
    return apart(*map(_compared, (kept, new)))


def apart(
    kept: dict[str, float], new: dict[str, float]
) -> dict[str, tuple[float, float, float]]:
    """Returns both values of each number of `kept`, and their difference."""
    return {
        name: (
            value,
            new.get(name, math.nan),
            abs(value - new.get(name, math.nan)),
        )
        for name, value in kept.items()
    }


def _compared(evaluation: dict) -> dict[str, float]:
    """The numbers that are compared, under their names of now."""
    found = {}
    for name, value in numbers_by_name(evaluation).items():
        last = name.rpartition(".")[2]
        if name.partition(".")[0] in NOT_COMPARED or last in EXTREMES:
            continue
        found[name.removesuffix(last) + FORMER_NAMES.get(last, last)] = value
    return found


def main(words=None) -> int:
    arguments = parser().parse_args(words)
    if not arguments.workdir.exists():
        parser().error(f"there is no folder or file {arguments.workdir}")
    try:
        return agree(arguments.workdir, arguments.tolerance, arguments.record)
    except ValueError as error:
        raise SystemExit(f"error: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
