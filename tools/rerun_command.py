"""Builds the command that repeats a run, from its result file."""

import shlex
from collections.abc import Mapping

from trainers.overrides import overrides


def rerun_command(
    recipe: str, config: dict, workdir: str, *, folds: list[str] = ()
) -> str:
    """Returns one shell line that trains and evaluates.

    Args:
        recipe: Name of the recipe.
        config: The config of the run in its result file. Fields that differ
            from the recipe become overrides.
        workdir: Folder to which the command writes.
        folds: Folds of a cross-validation; empty for a single training.
    """
    differing = overrides(recipe, config)
    module = "trainers.cross_validate" if folds else "trainers.train"
    words = ["python", "-m", module, "--config", recipe]
    if folds:
        differing.pop("folds.fold", None)
        words += ["--folds", *folds]
    words += [f"--config.{name}={value}" for name, value in differing.items()]
    command = shlex.join([*words, "--workdir", workdir])
    if folds:
        return command
    evaluate = ["python", "-m", "trainers.evaluate", "--workdir", workdir]
    return f"{command} && {shlex.join(evaluate)}"


def command_lines(commands: Mapping[str, str]) -> list[str]:
    """Returns a folded list of commands, by the name of the table's row."""
    lines = ["", "<details><summary>Commands, row by row</summary>", ""]
    for row, command in commands.items():
        lines += [f"    # {row}", f"    {command}"]
    return [*lines, "", "</details>"]
