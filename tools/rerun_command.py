"""Builds the command that repeats a run, from its result file."""

import shlex
from collections.abc import Mapping

from trainers.config import load_recipe
from trainers.workdir import recipe_fields
from trainers.workdir import resolved


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


def overrides(recipe: str, config: dict) -> dict:
    """Returns fields of `config` that differ from the recipe, by dotted name.

    A field that the recipe no longer has is left out, since it cannot be an
    override.
    """
    ours = _flat(recipe_fields(load_recipe(recipe)))
    theirs = _flat(resolved(config))
    return {
        name: value
        for name, value in theirs.items()
        if name in ours and value != ours[name]
    }


def _flat(fields: dict, prefix: str = "") -> dict:
    found = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found
