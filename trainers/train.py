"""Trains a recipe: `python -m trainers.train --config demo --workdir DIR`.

With data of your own and a goal, the command writes the recipe first:
`python -m trainers.train image_folder:photos --goal retrieve --workdir DIR`.

If you start a killed run again with the same workdir, it continues and ends
with the same result. At the end it draws the monitored measure of every epoch,
`learning_curves.png`. `--config.strategy=mirrored` trains on all GPUs of the
machine, `multi_worker` on several machines.
"""

import argparse
import pathlib
import shlex
import sys

from trainers import command_line
from trainers.config.load import load_recipe
from trainers.config.load import recipe_name
from trainers.config.recipe_list import recipe_list
from trainers.recipes import every_recipe
from trainers.terminal import command_names


def parser() -> argparse.ArgumentParser:
    result = command_line.ArgumentParser(
        prog=command_names.display_name("trainers.train"),
        description="Train a recipe with model.fit, or continue a run. With "
        "DATA and --goal, write the recipe first.",
        epilog="Any field of the recipe can be set: --config.field=value or "
        "--config.section.field=value. `--config RECIPE --help` lists every "
        "field with its type, value and meaning.",
    )
    command_line.add_recipe(result, required=False)
    command_line.add_goal(result)
    result.add_argument(
        "--method",
        help="loss or objective for the goal (default: the goal's own)",
    )
    result.add_argument(
        "--workdir", help="folder for logs, checkpoints and results.json"
    )
    result.add_argument(
        "--check",
        action="store_true",
        help="instead of training, read every example and name those that are "
        "damaged, of another size or copies; with --goal or --config, also "
        "check what the training would refuse; needs no --workdir",
    )
    result.add_argument(
        "--list",
        action=_ListRecipes,
        help="list the recipes, with data set, method and results, and exit",
    )
    return result


class _ListRecipes(argparse.Action):
    """Prints the recipes and exits, as `--help` does."""

    def __init__(self, option_strings, dest, help):
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser, namespace, values, option_string=None):
        with command_line.quiet_pipe():
            print(recipe_list(every_recipe()))
        parser.exit()


def train(recipe: str, workdir: str, overrides: list[str]) -> None:
    """Runs the training of a recipe in its workdir."""
    run, name = load_recipe(recipe, overrides), recipe_name(recipe)

    from trainers.training.strategy import is_chief
    from trainers.training.strategy import start
    from trainers.workdirs.lock import open_workdir
    from trainers.workdirs.require_outside_data import require_outside_data

    require_outside_data("--workdir", workdir, run.data.dataset)
    if not is_chief(run.training.strategy):
        start(run.training.strategy)
        from trainers.fit import fit

        fit(run, name, None)
        print("This worker is done; the chief writes the results.")
        return
    with open_workdir(workdir) as path:
        training = _train(run, name, path, workdir)
    _print_end(run, training, workdir)


def train_planned(planned, workdir: str, overrides: list[str]) -> None:
    """Writes the recipe of a goal into its workdir, and trains it.

    Both happen under one lock, so a refused start touches no other training.

    Args:
        planned: A result of `plan_recipe` for this workdir.
        workdir: The folder of the run.
        overrides: All fields that the command sets.
    """
    from trainers.goals.goal_overrides import place_overrides
    from trainers.goals.goal_recipe import written_recipe
    from trainers.workdirs.lock import open_workdir

    with open_workdir(workdir) as path, written_recipe(planned) as recipe:
        run = load_recipe(recipe, place_overrides(overrides))
        training = _train(run, recipe_name(recipe), path, workdir)
    _print_end(run, training, workdir)


def _train(run, name: str, path: pathlib.Path, workdir: str) -> dict:
    """Trains a run in its open workdir; returns what the results say of it."""
    from trainers.training.strategy import start
    from trainers.workdirs.workdir import contains_run
    from trainers.workdirs.workdir import require_single_run

    # Another run is refused at once.
    require_single_run(path)
    contains_run(path, run)
    start(run.training.strategy)
    from trainers.fit import fit

    print(
        f"Watch: {command_names.shell_command('tensorboard.main')} "
        f"--logdir {shlex.quote(workdir)}",
        flush=True,
    )
    training = fit(run, name, path)["training"]
    _save_curve(name, training, path / "learning_curves.png")
    return training


def _print_end(run, training: dict, workdir: str) -> None:
    from trainers.data.wait_hint import wait_hint

    if hint := wait_hint(run.data, training):
        print(f"\n{hint}")
    print(
        f"\n{training['monitor']} {training['best_value']:.4f} in epoch "
        f"{training['best_epoch']} of {training['epochs']}, "
        f"{training['seconds']:.0f} s.\n"
        f"Next: {command_names.shell_command('trainers.evaluate')} "
        f"--workdir {shlex.quote(workdir)}"
    )


def _save_curve(recipe: str, training: dict, file: pathlib.Path) -> None:
    """Draws the monitored measure after every epoch."""
    from embeddings_tf import viz
    from trainers.terminal.pictures import save_picture

    name = pathlib.Path(recipe).name.removesuffix(".py")
    measure = training["monitor"]
    curve = {row["epoch"]: row[measure] for row in training["history"]}
    save_picture(
        lambda: viz.learning_curves_figure(
            {name: [curve]}, measure, step="epoch"
        ),
        file,
    )


def train_goal(
    dataset: str,
    goal: str,
    method: str | None,
    split: str,
    workdir: str,
    overrides: list[str],
) -> None:
    """Writes the recipe of a goal into the workdir, and trains it."""
    from trainers.goals.goals import goal_of
    from trainers.workdirs.require_outside_data import require_outside_data
    from trainers.workdirs.workdir import folder_argument

    method = goal_of(goal).method_or_default(method)
    folder_argument("--workdir", workdir)
    require_outside_data("--workdir", workdir, dataset)

    from trainers.training.strategy import start_one_machine

    start_one_machine(overrides)
    from trainers.goals.goal_recipe import plan_recipe

    planned = plan_recipe(
        dataset, goal, method, split, workdir, overrides=overrides
    )
    train_planned(planned, workdir, overrides)


def check(
    recipe: str | None, dataset: str | None, overrides: list[str]
) -> None:
    """Reads every example of a recipe's data or a data set; trains nothing.

    If there is a recipe, also checks what its training would refuse.
    """
    run = load_recipe(recipe, overrides) if recipe else None
    if run is None and overrides:
        raise ValueError(
            f"config.{overrides[0].partition('=')[0]} belongs to a recipe; "
            "check DATA alone, with --goal, or --config WORKDIR/recipe.py"
        )

    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    from embeddings_tf.ops.counted import counted
    from trainers.data.check_data import check_data
    from trainers.data.check_data import run_of_all
    from trainers.fit import check_recipe

    if run is None:
        count = check_data(run_of_all(dataset), for_goal=True)
        print(
            f"Read {counted(count, 'example')}; none is damaged. With --goal, "
            "--check tells whether a goal can use them."
        )
        return
    count = check_data(run)
    check_recipe(run)
    print(f"Read {counted(count, 'example')}; all can be used.")


def check_goal(
    dataset: str,
    goal: str,
    method: str | None,
    split: str,
    overrides: list[str],
) -> None:
    """Reads every example, and checks what a training for the goal would."""
    import tempfile

    from trainers.goals.goals import goal_of

    method = goal_of(goal).method_or_default(method)

    from trainers.terminal.quiet import import_tensorflow

    import_tensorflow()
    from embeddings_tf.ops.counted import counted
    from trainers.data.check_data import check_data
    from trainers.data.check_data import run_of_all
    from trainers.fit import check_recipe
    from trainers.goals.goal_recipe import plan_recipe

    refusal = None
    with tempfile.TemporaryDirectory() as workdir:
        try:
            planned = plan_recipe(
                dataset, goal, method, split, workdir, overrides=overrides
            )
        except (ValueError, OSError) as error:  # bad examples are named first
            refusal = error
    if refusal is not None:
        check_data(run_of_all(dataset), for_goal=True)
        raise refusal
    print(planned.about)
    count = check_data(planned.run)
    check_recipe(planned.run)
    print(f"Read {counted(count, 'example')}; the goal {goal} can use all.")


def main(words=None) -> int:
    known = parser()
    arguments = command_line.parse(known, words)
    if (arguments.config is None) == (arguments.data is None):
        known.error("give either --config RECIPE, or DATA and --goal")
    workdir, overrides = arguments.workdir, arguments.overrides
    if arguments.check and arguments.goal is None:
        return command_line.run(
            check, arguments.config, arguments.data, overrides
        )
    if workdir is None and not arguments.check:
        known.error("the following arguments are required: --workdir")
    if arguments.data is None:
        for flag in ("goal", "method", "split"):
            if getattr(arguments, flag):
                known.error(f"--{flag} needs DATA instead of --config")
        return command_line.run(train, arguments.config, workdir, overrides)
    if arguments.goal is None:
        known.error(f"{arguments.data} needs a --goal")
    wanted = arguments.data, arguments.goal, arguments.method
    wanted += (arguments.split or "classes",)
    if arguments.check:
        return command_line.run(check_goal, *wanted, overrides)
    return command_line.run(train_goal, *wanted, workdir, overrides)


if __name__ == "__main__":
    sys.exit(main())
