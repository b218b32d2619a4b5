"""Cross-validation: `python -m trainers.cross_validate --config R --workdir D`.

Trains and evaluates a recipe fold by fold. Each fold is a run in `D/fold_K`,
for `trainers.evaluate` and `trainers.export`. Writes the mean and the standard
error of every number to `D/results.json`. If you start it again after a kill,
it continues with the interrupted fold.
"""

import argparse
import pathlib
import statistics
import sys
import time

from trainers import command_line
from trainers.config.load import load_recipe
from trainers.config.load import recipe_name
from trainers.measures.standard_error import standard_error
from trainers.terminal import command_names
from trainers.terminal.next_export import next_export
from trainers.workdirs import layout
from trainers.workdirs.initial_weights_path import initial_weights_path
from trainers.workdirs.numbers_by_name import numbers_by_name

# In the results of a fold: the fingerprint of all data, which the folds divide.
DIVISION = "division_fingerprint"


def parser() -> argparse.ArgumentParser:
    result = command_line.ArgumentParser(
        prog=command_names.display_name("trainers.cross_validate"),
        description="Train and evaluate a recipe fold by fold, or continue.",
        epilog="Fold 0 is for tuning: by default only the other folds run, and "
        "the summary contains all of them that have run. Any field of "
        "the recipe except folds.fold can be set: --config.field=value. "
        f"`{command_names.display_name('trainers.train')} --list` shows the "
        "recipes.",
    )
    command_line.add_recipe(result, " with folds")
    result.add_argument(
        "--workdir", required=True, help="folder of the folds' runs"
    )
    add_folds(result)
    return result


def add_folds(to: argparse.ArgumentParser, tuning_fold: str = "0") -> None:
    """Adds the argument `--folds`."""
    to.add_argument(
        "--folds",
        type=int,
        nargs="+",
        action="extend",
        metavar="K",
        help=f"which folds to run, from 0 (default: all but {tuning_fold})",
    )


def cross_validate(
    recipe: str,
    workdir: str,
    folds: list[int] | None,
    overrides: list[str],
    *,
    tuning_fold: int = 0,
) -> dict:
    """Runs the folds that have no result yet; returns the results of all.

    The summary contains all folds in this workdir. It contains the tuning fold
    only if no other fold has run.
    """
    from trainers.training.strategy import start
    from trainers.workdirs.lock import open_workdir
    from trainers.workdirs.require_outside_data import require_outside_data
    from trainers.workdirs.workdir import changed_fields
    from trainers.workdirs.workdir import claim
    from trainers.workdirs.workdir import contains_run
    from trainers.workdirs.workdir import is_evaluated
    from trainers.workdirs.workdir import is_started
    from trainers.workdirs.workdir import require_same_code

    whole, name = load_recipe(recipe, overrides), recipe_name(recipe)
    _require_folds(recipe, whole, overrides)
    require_outside_data("--workdir", workdir, whole.data.dataset)
    every = range(whole.data.folds.num_folds)
    others = [fold for fold in every if fold != tuning_fold]
    chosen = _chosen_folds(others if folds is None else folds, every)
    runs = {fold: _run_of_fold(recipe, overrides, fold) for fold in every}
    with open_workdir(workdir) as path:
        if layout.checkpoints(path).exists():
            raise ValueError(
                f"{path} contains a training without folds; choose another "
                "--workdir"
            )
        results = {n: _results(layout.fold(path, n)) for n in every}
        _require_one_data_set(path, results)
        if not contains_run(path, whole):
            start(whole.training.strategy)
            from trainers.data.classes_of_folds import require_classes_of_fold
            from trainers.data.data import Data
            from trainers.fit import check_recipe

            check_recipe(runs[chosen[0]])  # all folds use the same data
            for fold in chosen[1:]:  # but not of as many classes
                require_classes_of_fold(runs[fold], Data(runs[fold]))
                if whole.training.initial_weights:
                    initial_weights_path(runs[fold])
        claim(path, name, whole)
        for fold in every:
            folder = layout.fold(path, fold)
            if (folder / "config.json").exists():
                _require_unchanged(folder, changed_fields(folder, runs[fold]))
                if is_started(folder):
                    require_same_code(folder, runs[fold])
        missing = [f for f in chosen if not is_evaluated(results[f], whole)]
        if missing:
            start(whole.training.strategy)
            division = _require_one_division(path, whole, results)
            _train_folds(
                path, recipe, overrides, runs, missing, chosen, division
            )
        done = [
            fold
            for fold in others
            if is_evaluated(_results(layout.fold(path, fold)), whole)
        ]
        return _collect(path, name, done or [tuning_fold])


def _require_folds(recipe: str, whole, overrides: list[str]) -> None:
    """Checks that a recipe can be cross-validated."""
    if whole.data.folds.num_folds == 0:
        raise ValueError(
            f"{recipe} has no folds; train it with "
            f"{command_names.shell_command('trainers.train')}"
        )
    if whole.training.strategy == "multi_worker":
        raise ValueError(
            "cross-validation runs on one machine: "
            "--config.strategy=mirrored uses all its GPUs; with several "
            "machines, give each its own --folds and --workdir, copy the "
            "fold_* into one of these, and start the command there again"
        )
    chosen_fold = ("folds.fold=", "data.folds.fold=")
    if any(override.startswith(chosen_fold) for override in overrides):
        raise ValueError("choose folds with --folds, not --config.folds.fold")


def _chosen_folds(folds: list[int], every: range) -> list[int]:
    """Returns the folds of `--folds`, in order."""
    unknown = sorted(set(folds) - set(every))
    if unknown:
        raise ValueError(
            f"there is no fold {unknown[0]}; there are 0 to {every[-1]}"
        )
    if not folds:
        raise ValueError("--folds is empty; name at least one fold")
    return sorted(set(folds))


def _run_of_fold(recipe: str, overrides: list[str], fold: int):
    return load_recipe(recipe, _overrides_of_fold(overrides, fold))


def _overrides_of_fold(overrides: list[str], fold: int) -> list[str]:
    return [*overrides, f"folds.fold={fold}"]


def _train_folds(
    path, recipe: str, overrides, runs, missing, chosen, division: str
) -> None:
    """Trains and evaluates the folds without results, one after another.

    Each of them records the fingerprint of the data that is divided.
    """
    from trainers.evaluate import evaluate
    from trainers.terminal.progress import time_left
    from trainers.terminal.quiet import several_trainings
    from trainers.train import train
    from trainers.workdirs.results import update_results
    from trainers.workdirs.workdir import as_json
    from trainers.workdirs.workdir import differing_fields

    seconds: list[float] = []
    for fold in missing:
        folder = layout.fold(path, fold)
        place = f"{chosen.index(fold) + 1} of {len(chosen)}"
        left = time_left(seconds, len(missing))
        print(f"\n=== Fold {fold}, {place}{left}", flush=True)
        now = _run_of_fold(recipe, overrides, fold)  # a file can be edited
        changed = differing_fields(as_json(now), as_json(runs[fold]))
        _require_unchanged(folder, changed)
        started = time.monotonic()
        with several_trainings():
            train(recipe, str(folder), _overrides_of_fold(overrides, fold))
            update_results(folder, **{DIVISION: division})
            evaluate(str(folder), [])
        seconds.append(time.monotonic() - started)


def _require_unchanged(run: pathlib.Path, changed: list[tuple]) -> None:
    """Raises ValueError if a fold has another recipe than this command."""
    if changed:
        field, of_fold, of_others = changed[0]
        raise ValueError(
            f"the recipe has changed: {run} has {field}={of_fold!r}, and this "
            f"cross-validation has {of_others!r}. Folds of several recipes "
            "have no common mean; restore the recipe, or choose another "
            "--workdir"
        )


def _require_one_data_set(path: pathlib.Path, results: dict[int, dict]) -> None:
    """Checks the data of folds that were copied from other workdirs.

    Folds of earlier versions have not recorded it.

    Raises:
        ValueError: If two folds divide different data.
    """
    folds_of: dict[str, list[str]] = {}
    for fold, found in results.items():
        if DIVISION in found:
            folds_of.setdefault(str(found[DIVISION]), []).append(str(fold))
    if len(folds_of) > 1:
        groups = "; ".join(
            f"{found}: {', '.join(folds)}" for found, folds in folds_of.items()
        )
        raise ValueError(
            f"the folds in {path} divide different data (fingerprint of the "
            f"data: folds; {groups}), so they have no common mean. Move the "
            "folds of the wrong data away, put the same data on every "
            "machine, and start again: this trains the missing folds"
        )


def _require_one_division(
    path: pathlib.Path, whole, results: dict[int, dict]
) -> str:
    """Checks that every fold divides the same data; records it at the first.

    Folds of other classes would not be parts of one division: a class could be
    tested twice.

    Returns:
        The fingerprint of the data.

    Raises:
        ValueError: If the data has changed since the first fold.
    """
    from trainers.data.data import Data
    from trainers.data.data_fingerprint import fingerprint
    from trainers.workdirs.json_files import read_json
    from trainers.workdirs.json_files import write_json
    from trainers.workdirs.workdir import is_started

    file = path / layout.FOLDS
    # The splits of one fold together are all the data.
    found = fingerprint(Data(whole), "train", "validation", "test")
    if not file.exists() and not is_started(path):
        write_json(file, {"data_fingerprint": found})
    cure = "start again in another --workdir"
    if not file.exists():
        raise ValueError(
            f"{path} has trained folds, and no {layout.FOLDS}, which records "
            "their data; copy it from the workdir where they were trained, or "
            f"{cure}"
        )
    expected = read_json(file, cure).get("data_fingerprint")
    if found != expected:
        raise ValueError(
            f"{whole.data.dataset} has other examples than when the folds in "
            f"{path} started (fingerprint {found}, not {expected}), so the "
            f"folds would not divide the same data; put the data back, or "
            f"{cure}"
        )
    # Folds of another machine may be here, and its folds.json may not.
    for fold, of_fold in results.items():
        if of_fold.get(DIVISION, found) != found:
            raise ValueError(
                f"{layout.fold(path, fold)} was trained on other examples of "
                f"{whole.data.dataset} (fingerprint {of_fold[DIVISION]}, not "
                f"{found}), so the folds would not divide the same data; move "
                f"this folder away, put its data back, or {cure}"
            )
    return found


def _results(run: pathlib.Path) -> dict:
    """Returns results of a fold; without an evaluation, it must run."""
    from trainers.workdirs.results import read_results

    results = read_results(run)
    if not {"training", "evaluation"} <= set(results):
        return results
    training = results["training"]
    if not (
        isinstance(results["evaluation"], dict)
        and isinstance(training, dict)
        and isinstance(training.get("history"), list)
        and "monitor" in training
    ):
        raise ValueError(
            f"{run / 'results.json'} is damaged (parts of the training or the "
            "evaluation are missing); move it away and start the same command "
            "again"
        )
    return results


def _collect(path: pathlib.Path, recipe: str, folds) -> dict:
    """Writes and prints the summary of the folds, and the curves."""
    from trainers.terminal.quiet import import_tensorflow
    from trainers.workdirs.results import update_results

    import_tensorflow()
    from embeddings_tf import viz

    runs = {str(n): _results(layout.fold(path, n)) for n in folds}
    numbers = [numbers_by_name(run["evaluation"]) for run in runs.values()]
    common = [name for name in numbers[0] if all(name in n for n in numbers)]
    rows = {name: [found[name] for found in numbers] for name in common}
    results = update_results(
        path,
        recipe=recipe,
        folds=runs,
        mean={name: statistics.fmean(values) for name, values in rows.items()},
        standard_error={
            name: standard_error(values) for name, values in rows.items()
        },
    )
    measure = runs[str(folds[0])]["training"]["monitor"]
    curves = [
        {row["epoch"]: row[measure] for row in run["training"]["history"]}
        for run in runs.values()
    ]
    viz.save_figure(
        viz.learning_curves_figure({recipe: curves}, measure, step="epoch"),
        path / "learning_curves.png",
    )
    print(f"\n{'folds ' + ', '.join(runs):<44}{'mean':>12}{'s.e.':>12}")
    for name, values in rows.items():
        if name.split(".")[0] not in ("seconds", "cores", "settings", "load"):
            error = standard_error(values)
            print(
                f"{name:<44}{statistics.fmean(values):>12.4f}"
                + ("" if error is None else f"{error:>12.4f}")
            )
    print(
        f"Every number: {path / 'results.json'}; curves: "
        f"{path / 'learning_curves.png'}\n"
        f"{next_export(layout.fold(path, folds[0]))}"
    )
    return results


def main(words=None) -> int:
    arguments = command_line.parse(parser(), words)
    return command_line.run(
        cross_validate,
        arguments.config,
        arguments.workdir,
        arguments.folds,
        arguments.overrides,
    )


if __name__ == "__main__":
    sys.exit(main())
