"""Compares methods: `python -m trainers.compare DATA --goal G --workdir DIR`.

Trains every method with the same network, number of batches, examples of a
batch, optimiser and division of the data, and repeats this with other seeds. A
repeat has its own random weights, batches and, if the data has no splits for
the goal, its own division. Methods are compared repeat by repeat. A killed
comparison continues.
"""

import argparse
import pathlib
import sys

from trainers import command_line
from trainers.goals.goals import goal_of
from trainers.terminal import command_names
from trainers.terminal.next_export import next_export

# Epochs without improvement: no method stops before the others.
NEVER = 10**6


def parser() -> argparse.ArgumentParser:
    result = command_line.ArgumentParser(
        prog=command_names.display_name("trainers.compare"),
        description="Train several methods with equal numbers of examples on "
        "your own data, and compare them repeat by repeat.",
        epilog="Any field of the recipes can be set for all methods: "
        "--config.num_epochs=5.",
    )
    command_line.add_goal(result)
    result.add_argument(
        "--methods",
        nargs="+",
        action="extend",
        metavar="METHOD",
        help="losses and objectives (default: five of the goal's)",
    )
    result.add_argument(
        "--repeats", type=int, default=3, help="at least 2 (default: 3)"
    )
    result.add_argument(
        "--workdir", required=True, help="folder of all trainings"
    )
    return result


def compare(
    dataset: str,
    goal: str,
    methods: list[str] | None,
    split: str,
    repeats: int,
    workdir: str,
    overrides: list[str],
) -> dict:
    """Trains and evaluates what is missing; returns the comparison."""
    from trainers.workdirs.require_outside_data import require_outside_data
    from trainers.workdirs.writable_folder import writable_folder

    _check_overrides(overrides)
    writable_folder("--workdir", workdir)  # of `comparison.json`
    require_outside_data("--workdir", workdir, dataset)
    wanted = goal_of(goal)
    methods = list(dict.fromkeys(methods or wanted.compare))
    for method in methods:
        wanted.require(method)
    if len(methods) < 2 or repeats < 2:
        raise ValueError(
            "a comparison needs at least two methods and at least --repeats 2; "
            f"received {len(methods)} methods and {repeats} repeats"
        )
    from trainers.training.strategy import start_one_machine

    start_one_machine(overrides)
    from trainers.goals.goal_recipe import OF_DISTANCES
    from trainers.goals.goal_recipe import plan_recipe

    of_distances = [o for o in overrides if o.startswith(OF_DISTANCES)]
    if of_distances and "LearnedDistance" not in methods:
        raise ValueError(
            f"--config.{of_distances[0]} is for LearnedDistance, which is not "
            "compared; leave it out, or add LearnedDistance to --methods"
        )
    # All before the first training, which may take hours.
    planned = {
        (method, repeat): plan_recipe(
            dataset,
            goal,
            method,
            split,
            str(pathlib.Path(workdir) / method / f"repeat_{repeat}"),
            repeat,
            [*overrides, f"seed={repeat}", f"patience={NEVER}"],
            "compare",
        )
        for repeat in range(repeats)
        for method in methods
    }
    for plan in planned.values():
        _require_measured(plan.run)
    results = _train_all(dataset, planned, repeats, overrides)
    comparison = {
        "data": dataset,
        "goal": goal,
        "split": split,
        "overrides": overrides,
        "seeds": list(range(repeats)),
        **_comparison(wanted, planned, results),
    }
    _save(comparison, pathlib.Path(workdir))
    _print_end(comparison, pathlib.Path(workdir))
    return comparison


def _check_overrides(overrides: list[str]) -> None:
    """Refuses fields that a comparison sets itself."""
    for override in overrides:
        field = override.partition("=")[0].removeprefix("training.")
        if field == "evaluation.name":
            raise ValueError(
                "a comparison has the evaluation of its goal; leave out "
                "--config.evaluation.name"
            )
        if field in ("seed", "patience"):
            raise ValueError(
                "a comparison has a seed for each repeat and no early "
                f"stopping; leave out --config.{field}"
            )


def _train_all(
    dataset: str, planned: dict, repeats: int, overrides: list[str]
) -> dict:
    """The results of every training, by method and repeat."""
    from trainers.terminal.progress import time_left
    from trainers.terminal.quiet import several_trainings

    results: dict[tuple, dict] = {}
    firsts: dict[int, tuple] = {}
    passed: list[float] = []
    for number, ((method, repeat), plan) in enumerate(planned.items()):
        print(
            f"\n=== {method}, repeat {repeat + 1} of {repeats} (training "
            f"{number + 1} of {len(planned)}{time_left(passed, len(planned))})",
            flush=True,
        )
        with several_trainings():
            found = _train_and_evaluate(plan, overrides)
        here = plan.path.parent, found
        _require_equal_data(dataset, here, firsts.setdefault(repeat, here))
        results[method, repeat] = found
        passed.append(
            found["training"]["seconds"] + found["evaluation"]["seconds"]
        )
    return results


def _comparison(wanted, planned: dict, results: dict) -> dict:
    """The methods beside each other, repeat by repeat."""
    from trainers.measures.paired_methods import paired_methods
    from trainers.workdirs.provenance import provenance

    values: dict[str, list[float]] = {}
    seconds: dict[str, float] = {}
    for (method, _), found in results.items():
        values.setdefault(method, []).append(
            wanted.measure(found["evaluation"])
        )
        seconds[method] = (
            seconds.get(method, 0.0) + found["training"]["seconds"]
        )
    # The methods of a repeat have the same data.
    fingerprints = {
        repeat: found["data_fingerprint"]
        for (_, repeat), found in results.items()
    }
    test_to_train = _test_to_train(
        next(iter(planned.values())),
        own_divisions=len({*fingerprints.values()}) > 1,
    )
    commits = {
        part["commit"]
        for found in results.values()
        for part in (found["training"], found["evaluation"])
    }
    return {
        "number": wanted.number,
        "higher_is_better": wanted.higher_is_better,
        "methods": paired_methods(
            values, wanted.higher_is_better, test_to_train
        ),
        "test_to_train": test_to_train,
        "seconds": seconds,
        "budgets": _budgets(planned),
        "data_fingerprints": [*fingerprints.values()],
        "commits_of_trainings": sorted(commits),
        **provenance(),
    }


def _print_end(comparison: dict, workdir: pathlib.Path) -> None:
    from trainers.measures.paired_methods import methods_table

    print("\n" + methods_table(comparison))
    best = next(iter(comparison["methods"]))
    print(
        f"\nEvery number: {workdir / 'comparison.json'}; "
        f"picture: {workdir / 'comparison.png'}\n"
        f"{next_export(workdir / best / 'repeat_0')}"
    )


def _train_and_evaluate(planned, overrides) -> dict:
    """Trains and evaluates, unless that is done; returns the results."""
    from trainers.evaluate import evaluate
    from trainers.train import train_planned
    from trainers.workdirs.results import read_results
    from trainers.workdirs.workdir import is_evaluated

    folder = planned.path.parent
    train_planned(planned, str(folder), overrides)
    if not is_evaluated(read_results(folder), planned.run):
        evaluate(str(folder), [])
    return read_results(folder)


def _require_measured(run) -> None:
    """Checks that an evaluation has the number that is compared."""
    wanted = run.evaluation
    if "test" not in wanted.splits or 1 not in getattr(wanted, "k", (1,)):
        raise ValueError(
            "a comparison is of the split test, by recall@1 for the goal "
            "retrieve; keep 'test' in config.evaluation.splits, and 1 in "
            "config.evaluation.k"
        )


def _require_equal_data(dataset: str, found: tuple, first: tuple) -> None:
    """Checks that two methods of a repeat had the same data.

    Args:
        dataset: Name of the data.
        found: Folder and results of a method.
        first: Folder and results of the first method.

    Raises:
        ValueError: If they were trained, validated or tested on different
            examples.
    """
    from trainers.data.same_data import FINGERPRINTS

    (folder, results), (other, expected) = found, first
    end = f"examples in {folder} than in {other}; put the data back and"
    for name, kind in FINGERPRINTS.items():
        if results[name] != expected[name]:
            raise ValueError(
                f"{dataset} has other {kind} {end} remove the folder that was "
                "trained with other data, or choose another --workdir"
            )
    tests = [
        part["evaluation"]["data_fingerprint"] for part in (results, expected)
    ]
    if tests[0] != tests[1]:
        raise ValueError(
            f"{dataset} has other test {end} evaluate both again "
            f"({command_names.shell_command('trainers.evaluate')} --workdir "
            "FOLDER), or choose another --workdir"
        )


def _test_to_train(plan, own_divisions: bool) -> float:
    """Ratio of test to training examples, or of classes if these are divided.

    0 if all repeats share one division.
    """
    from trainers.data.classes import split_sizes

    if not own_divisions:
        return 0.0
    data = plan.run.data
    sizes = split_sizes(
        plan.path.parent, by_class=data.division.by == "classes"
    )
    if "test" in sizes:
        return sizes["test"] / sizes[data.split]
    # One fold is the test, and a fifth of the others is for validation.
    return 1 / (0.8 * (data.folds.num_folds - 1))


def _budgets(planned: dict) -> dict:
    """Examples of a batch and of a training, by method."""
    from trainers.goals.goal_config import rows_per_batch

    found = {}
    for (method, _), plan in planned.items():
        rows, training = rows_per_batch(plan.run), plan.run.training
        steps = training.steps_per_epoch * training.num_epochs
        found[method] = {
            "examples_per_batch": rows,
            "examples": rows and rows * steps,
        }
    return found


def _save(comparison: dict, workdir: pathlib.Path) -> None:
    from embeddings_tf import viz
    from trainers.workdirs.json_files import write_json

    figure = viz.paired_comparison_figure(
        {n: row["values"] for n, row in comparison["methods"].items()},
        comparison["number"],
    )
    viz.save_figure(figure, workdir / "comparison.png")
    write_json(workdir / "comparison.json", comparison)


def main(words=None) -> int:
    known = parser()
    arguments = command_line.parse(known, words)
    if arguments.data is None or arguments.goal is None:
        known.error("give DATA and --goal")
    return command_line.run(
        compare,
        arguments.data,
        arguments.goal,
        arguments.methods,
        arguments.split or "classes",
        arguments.repeats,
        arguments.workdir,
        arguments.overrides,
    )


if __name__ == "__main__":
    sys.exit(main())
