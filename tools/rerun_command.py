"""Builds the command that repeats a run, from its result file."""

import functools
import json
import pathlib
import shlex
from collections.abc import Mapping

from tools.complete_config import complete_config
from trainers.config import load_recipe
from trainers.config.flat import flat
from trainers.config.load import read_run
from trainers.recipes import every_recipe
from trainers.workdirs.overrides import overrides
from trainers.workdirs.workdir import differing_fields
from trainers.workdirs.workdir import recipe_fields

# Sections of a config that depend on the kind of evaluation.
EVALUATED = ("evaluation", "validation")


def rerun_command(
    recipe: str,
    config: dict,
    workdir: str,
    *,
    folds: list[str] = (),
    initial_run: dict | None = None,
) -> str:
    """Returns one shell line that trains and evaluates.

    Args:
        recipe: Name of the recipe.
        config: The config of the run in its result file. Fields that differ
            from the recipe become overrides.
        workdir: Folder to which the command writes.
        folds: Folds of a cross-validation; empty for a single training.
        initial_run: `recipe` and `config` of the run in
            `config["initial_weights"]`, whose training comes first; its own
            `initial_run`, if it has one; and `cross_validated` if it is a
            cross-validation, which then trains the folds of this run.

    Raises:
        ValueError: If the command would train another run.
    """
    command = _trained(recipe, json.dumps(config), workdir, tuple(folds))
    if initial_run is not None:
        of_folds = ()
        if initial_run.get("cross_validated"):
            of_folds = folds or [str(config["folds"]["fold"])]
        first = rerun_command(
            initial_run["recipe"],
            initial_run["config"],
            config["initial_weights"],
            folds=of_folds,
            initial_run=initial_run.get("initial_run"),
        )
        training = first if of_folds else first.rpartition(" && ")[0]
        command = f"{training} && {command}"
    if folds:
        return command
    evaluate = ["python", "-m", "trainers.evaluate", "--workdir", workdir]
    return f"{command} && {shlex.join(evaluate)}"


def first_command(
    recipe: str, workdir: str, fields: list[str], folds: list[str] = ()
) -> str:
    """Returns the command of a recipe that has no result yet.

    Args:
        recipe: Name of the recipe.
        workdir: Folder to which the command writes.
        fields: Overrides `field=value`.
        folds: As in `rerun_command`.
    """
    config = recipe_fields(read_run(recipe, fields))
    first = pathlib.PurePath(config["initial_weights"]).name
    initial_run = None
    if first in every_recipe():
        of_first = recipe_fields(read_run(first, fields))
        is_same_data = of_first["dataset"] == config["dataset"]
        initial_run = {
            "recipe": first,
            "config": of_first,
            "cross_validated": bool(folds) and is_same_data,
        }
    return rerun_command(
        recipe, config, workdir, folds=folds, initial_run=initial_run
    )


def own_fields(recipe: str, config: dict) -> dict:
    """Returns arguments of an objective of the user's, by dotted name.

    They are no overrides, because the recipe's objective does not have them.
    """
    ours = recipe_fields(load_recipe(recipe)).get("objective", {})
    theirs = config.get("objective", {})
    return {
        f"objective.{name}": value
        for name, value in theirs.items()
        if name not in ours
    }


@functools.cache  # tables ask for the same commands again and again
def _trained(recipe: str, config: str, workdir: str, folds: tuple) -> str:
    config = json.loads(config)
    differing = overrides(recipe, config) | own_fields(recipe, config)
    differing |= _other_evaluation(recipe, config)
    _require_same_run(recipe, config, differing)
    module = "trainers.cross_validate" if folds else "trainers.train"
    words = ["python", "-m", module, "--config", recipe]
    if folds:
        differing.pop("folds.fold", None)
        words += ["--folds", *folds]
    words += [f"--config.{name}={value}" for name, value in differing.items()]
    return shlex.join([*words, "--workdir", workdir])


def _other_evaluation(recipe: str, config: dict) -> dict:
    """Returns the fields of an evaluation that the recipe does not have.

    Another evaluation has other fields, and another validation.
    """
    if not config.get("evaluation", {}).get("name"):
        return {}
    theirs = complete_config(config)
    name = theirs["evaluation"]["name"]
    if name == recipe_fields(load_recipe(recipe))["evaluation"]["name"]:
        return {}
    again = recipe_fields(read_run(recipe, [f"evaluation.name={name}"]))
    ours = flat({part: again.get(part, {}) for part in EVALUATED})
    return {
        field: value
        for field, value in flat(theirs).items()
        if field in ours and ours[field] != value
    }


def _require_same_run(recipe: str, config: dict, differing: dict) -> None:
    fields = [f"{name}={value}" for name, value in differing.items()]
    again = recipe_fields(read_run(recipe, fields))
    changed = differing_fields(complete_config(config), again)
    if changed:
        field, wanted, received = changed[0]
        raise ValueError(
            f"no command repeats this run of {recipe}: {field} of the run is "
            f"{wanted!r}, and the recipe with overrides has {received!r} "
            f"({len(changed)} field(s) differ). Restore the recipe, or train "
            "the run again"
        )


def command_lines(commands: Mapping[str, str]) -> list[str]:
    """Returns a folded list of commands, by the name of the table's row."""
    lines = ["", "<details><summary>Commands, row by row</summary>", ""]
    for row, command in commands.items():
        lines += [f"    # {row}", f"    {command}"]
    return [*lines, "", "</details>"]
