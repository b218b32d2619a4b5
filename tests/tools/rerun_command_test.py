"""The commands below the tables repeat the runs of the result files."""

import json
import shlex
from pathlib import Path

import pytest

from tools import n_digit_table
from tools.rerun_command import command_lines
from tools.rerun_command import rerun_command
from trainers import cross_validate
from trainers import train
from trainers.command_line import parse
from trainers.config import load_recipe
from trainers.recipes import every_recipe
from trainers.workdirs.overrides import overrides
from trainers.workdirs.workdir import differing_fields
from trainers.workdirs.workdir import recipe_fields
from trainers.workdirs.workdir import resolved

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def stored_runs():
    """(recipe, config, folds) of every result file of a training.

    Runs of recipes that are not in this repository are left out.
    """
    for path in sorted(RESULTS.glob("*/*.json")):
        found = json.loads(path.read_text())
        if found.get("recipe") not in every_recipe():
            continue
        if path.parent.name == "n_digit":
            found["config"] = n_digit_table.config_of(found)
        runs = [found, *found.get("runs", {}).values()]
        for run in runs:
            if "config" in run:
                yield found["recipe"], run["config"], [*run.get("folds", ())]
        if start := found.get("initial_run"):
            yield start["recipe"], start["config"], []


@pytest.mark.slow
def test_every_stored_run_is_repeated_by_its_command():
    count = 0
    for recipe, config, folds in stored_runs():
        command = rerun_command(recipe, config, "runs/x", folds=folds)
        words = shlex.split(command.partition(" && ")[0])
        module = {"trainers.train": train}.get(words[2], cross_validate)
        arguments = parse(module.parser(), words[3:])
        again = load_recipe(arguments.config, arguments.overrides)
        if folds:
            assert arguments.folds == [int(fold) for fold in folds]
            config = config | {"folds": {**config["folds"], "fold": 0}}
        changed = differing_fields(resolved(config), recipe_fields(again))
        assert not changed, (recipe, changed)
        count += 1
    assert count > 200


def test_a_run_without_the_folds_of_its_recipe():
    recipe = "omniglot_retrieval_triplet"
    config = recipe_fields(load_recipe(recipe, ["folds.num_folds=0"]))
    assert "folds" not in config
    differing = overrides(recipe, config)
    assert differing == {"folds.split": "train", "folds.num_folds": 0}
    command = rerun_command(recipe, config, "runs/x")
    assert "--config.folds.num_folds=0 " in command


def test_a_run_that_no_command_repeats_is_an_error():
    """Here the recipe of the run is another one."""
    recipe = "omniglot_retrieval_triplet"
    config = recipe_fields(load_recipe("sprites_triplet"))
    with pytest.raises(ValueError, match="no command repeats this run of omni"):
        rerun_command(recipe, config, "runs/x")


def test_an_override_is_quoted_for_the_shell():
    config = recipe_fields(load_recipe("an4_learned_distance"))
    config["objective"]["distance"]["hidden_units"] = [256, 256]
    command = rerun_command("an4_learned_distance", config, "my run")
    assert shlex.split(command) == [
        *("python", "-m", "trainers.train", "--config"),
        "an4_learned_distance",
        "--config.objective.distance.hidden_units=[256, 256]",
        *("--workdir", "my run", "&&"),
        *("python", "-m", "trainers.evaluate", "--workdir", "my run"),
    ]


@pytest.mark.parametrize("part", ["uncertainty", "preprocess"])
def test_a_part_that_the_run_left_out(part):
    recipe = "uncertainty_omniglot_dim_2_prototypical"
    config = recipe_fields(load_recipe(recipe, [f"{part}.name="]))
    assert overrides(recipe, config) == {f"{part}.name": ""}
    command = rerun_command(recipe, config, "runs/x").partition(" && ")[0]
    words = shlex.split(command)
    arguments = parse(train.parser(), words[3:])
    again = load_recipe(arguments.config, arguments.overrides)
    assert recipe_fields(again) == config
    assert overrides(recipe, recipe_fields(load_recipe(recipe))) == {}


def test_an_unknown_recipe_is_an_error():
    with pytest.raises(ValueError, match="unknown recipe"):
        rerun_command("no_such_recipe", {}, "runs/x")


def test_lines_for_a_page():
    assert command_lines({"row": "command"}) == [
        "",
        "<details><summary>Commands, row by row</summary>",
        "",
        "    # row",
        "    command",
        "",
        "</details>",
    ]
