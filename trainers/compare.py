"""Compares methods: `python -m trainers.compare DATA --goal G --workdir DIR`.

Trains every method with the same network, number of batches, examples of a
batch, optimiser and division of the data, and repeats this with other seeds. A
repeat has its own random weights, batches and, if the data has no splits for
the goal, its own division. Methods are compared repeat by repeat. A killed
comparison continues.
"""

import argparse
import pathlib
import shlex
import sys

from trainers import command_line
from trainers.goals.goals import goal as goal_of
from trainers.terminal import command_names

# Epochs without improvement: no method stops before the others.
NEVER = 10**6


def parser() -> argparse.ArgumentParser:
    result = command_line.ArgumentParser(
        prog=command_names.program("trainers.compare"),
        description="Train several methods with equal numbers of examples on "
        "your own data, and compare them repeat by repeat.",
        epilog="Any field of the recipes can be set for all methods: "
        "--config.num_epochs=5.",
    )
    command_line.add_goal(result)
    result.add_argument(
        "--methods",
        nargs="+",
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
    from trainers.workdirs.workdir import folder_argument

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
    folder_argument("--workdir", workdir)
    wanted = goal_of(goal)
    methods = list(dict.fromkeys(methods or wanted.compare))
    for method in methods:
        wanted.require(method)
    if len(methods) < 2 or repeats < 2:
        raise ValueError(
            "a comparison needs two methods and --repeats 2; received "
            f"{len(methods)} methods and {repeats} repeats"
        )
    from trainers.training.strategy import start_one_machine

    start_one_machine(overrides)
    from trainers.goals.goal_recipe import plan_recipe
    from trainers.terminal.progress import time_left

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
    values = {method: [] for method in methods}
    firsts: dict[int, tuple] = {}
    seconds = {method: 0.0 for method in methods}
    commits, passed = set(), []
    for number, (method, repeat) in enumerate(planned):
        print(
            f"\n=== {method}, repeat {repeat + 1} of {repeats} (training "
            f"{number + 1} of {len(planned)}{time_left(passed, len(planned))})",
            flush=True,
        )
        results = _trained(planned[method, repeat], overrides)
        found = planned[method, repeat].path.parent, results
        _require_same_data(dataset, found, firsts.setdefault(repeat, found))
        parts = results["training"], results["evaluation"]
        values[method].append(wanted.measure(parts[1]))
        seconds[method] += parts[0]["seconds"]
        passed.append(sum(part["seconds"] for part in parts))
        commits |= {part["commit"] for part in parts}
    from trainers.workdirs.provenance import provenance

    prints = {results["data_fingerprint"] for _, results in firsts.values()}
    own_divisions = len(prints) > 1
    test_to_train = _test_to_train(planned[methods[0], 0], own_divisions)
    comparison = {
        "data": dataset,
        "goal": goal,
        "split": split,
        "number": wanted.number,
        "higher_is_better": wanted.higher_is_better,
        "methods": paired(values, wanted.higher_is_better, test_to_train),
        "test_to_train": test_to_train,
        "seconds": seconds,
        "budgets": _budgets(planned),
        "overrides": overrides,
        "seeds": list(range(repeats)),
        "commits_of_trainings": sorted(commits),
        **provenance(),
    }
    _save(comparison, pathlib.Path(workdir))
    print("\n" + table(comparison))
    best = next(iter(comparison["methods"]))
    print(
        f"\nEvery number: {pathlib.Path(workdir) / 'comparison.json'}; "
        f"picture: {pathlib.Path(workdir) / 'comparison.png'}\n"
        f"Next: {command_names.module_command('trainers.export')} --workdir "
        f"{shlex.quote(str(pathlib.Path(workdir) / best / 'repeat_0'))} "
        "--directory saved_models/NAME"
    )
    return comparison


def _trained(planned, overrides) -> dict:
    """The results of one training; trains and evaluates it if needed."""
    from trainers.evaluate import evaluate
    from trainers.goals.goal_overrides import place_overrides
    from trainers.goals.goal_recipe import written_recipe
    from trainers.train import train
    from trainers.workdirs.workdir import is_evaluated
    from trainers.workdirs.workdir import read_results

    folder = planned.path.parent
    with written_recipe(planned) as recipe:
        train(recipe, str(folder), place_overrides(overrides))
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


def _require_same_data(dataset: str, found: tuple, first: tuple) -> None:
    """Checks that two methods of a repeat had the same data.

    Args:
        dataset: Name of the data.
        found: Folder and results of a method.
        first: Folder and results of the first method.

    Raises:
        ValueError: If they were trained, validated or tested on different
            examples.
    """
    from trainers.workdirs.same_data import FINGERPRINTS

    (folder, results), (other, expected) = found, first
    end = f"examples in {folder} than in {other}; put the data back and"
    for name, kind in FINGERPRINTS.items():
        # Trainings of earlier versions have no print of validation data.
        prints = {part.get(name) for part in (results, expected)}
        if len(prints - {None}) > 1:
            raise ValueError(
                f"{dataset} has other {kind} {end} remove the folder that was "
                "trained with other data, or choose another --workdir"
            )
    tests = {
        part["evaluation"].get("data_fingerprint")
        for part in (results, expected)
    }
    if len(tests - {None}) > 1:  # evaluations of earlier versions have none
        raise ValueError(
            f"{dataset} has other test {end} evaluate both again "
            f"({command_names.module_command('trainers.evaluate')} --workdir "
            "FOLDER), or choose another --workdir"
        )


def _test_to_train(plan, own_divisions: bool) -> float:
    """Test examples for each training example, by classes if they are divided.

    0 if all repeats have one division.
    """
    from trainers.data.classes import FILE
    from trainers.workdirs.workdir import read_json

    if not own_divisions:
        return 0.0
    run, path = plan.run, plan.path.parent / FILE
    if path.exists():
        found = read_json(path, "train again")
        by_class = run.data.division.by == "classes"
        # Something else than the labels may be divided, such as speakers.
        splits = found.get("divided", {}) if by_class else {}
        splits = splits or found["splits"]
        if "test" in splits:
            train, test = (
                len(names) if by_class else sum(names.values())
                for names in (splits[run.data.split], splits["test"])
            )
            return test / train
    # One fold is the test, and a fifth of the others is for validation.
    return 1 / (0.8 * (run.data.folds.num_folds - 1))


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


def paired(
    values: dict[str, list[float]],
    higher_is_better: bool,
    test_to_train: float = 0.0,
) -> dict:
    """Mean of each method, and its difference from the best, best first.

    Args:
        values: A number for each repeat, by method.
        higher_is_better: Whether a larger number is better.
        test_to_train: Test examples for each training example if every repeat
            divides the data anew, else 0. Such repeats share examples, so their
            numbers vary less than with new data (Nadeau & Bengio 2003).

    Returns:
        By method: `values`, `mean`, `difference` (mean of the differences from
        the best method, repeat by repeat) and `interval`, its 95 % interval
        by Student's t; None for the best method.
    """
    import numpy as np
    from scipy import stats

    sign = -1 if higher_is_better else 1
    order = sorted(values, key=lambda method: sign * np.mean(values[method]))
    best = np.asarray(values[order[0]])
    found = {}
    for method in order:
        differences = np.asarray(values[method]) - best
        count = len(differences)
        error = differences.std(ddof=1) * np.sqrt(1 / count + test_to_train)
        half = stats.t.ppf(0.975, count - 1) * error
        mean = float(differences.mean())
        found[method] = {
            "values": [float(value) for value in values[method]],
            "mean": float(np.mean(values[method])),
            "difference": mean,
            "interval": None
            if method == order[0]
            else [mean - float(half), mean + float(half)],
        }
    return found


def table(comparison: dict) -> str:
    """The comparison as text."""
    methods = comparison["methods"]
    width = max(map(len, methods)) + 2
    direction = "higher" if comparison["higher_is_better"] else "lower"
    repeats = len(next(iter(methods.values()))["values"])
    lines = [
        f"{comparison['number']} ({direction} is better), {repeats} repeats",
        f"{'method':<{width}}{'mean':>8}{'difference':>12}{'95 %':>20}"
        f"{'seconds':>9}{'a batch':>9}{'examples':>11}",
    ]
    undecided = []
    for name, row in methods.items():
        budget = comparison["budgets"][name]
        end = f"{comparison['seconds'][name]:>9.0f}" + "".join(
            f"{'-' if count is None else f'{count:,}':>{size}}"
            for count, size in zip(budget.values(), (9, 11), strict=True)
        )
        start = f"{name:<{width}}{row['mean']:>8.4f}"
        if row["interval"] is None:
            lines.append(f"{start}{'':>32}{end}")
            continue
        low, high = row["interval"]
        if low <= 0 <= high:
            undecided.append(name)
        lines.append(
            f"{start}{row['difference']:>+12.4f}"
            f"{f'{low:+.4f} to {high:+.4f}':>20}{end}"
        )
    best = next(iter(methods))
    lines.append(
        f"The difference is to {best}, which has the best mean. "
        + (
            f"Not decided by {repeats} repeats: {', '.join(undecided)}."
            if undecided
            else "Every interval excludes 0."
        )
        + " The best method is chosen by these numbers, so it looks better "
        "than it is; repeats with other seeds confirm it."
    )
    return "\n".join(lines)


def _save(comparison: dict, workdir: pathlib.Path) -> None:
    from embeddings_tf import viz
    from trainers.workdirs.workdir import write_json

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
