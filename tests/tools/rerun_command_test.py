"""The commands below the tables repeat the runs of the result files."""

import json
import shlex
from pathlib import Path

import pytest

from tools import n_digit_table
from tools.rerun_command import command_lines
from tools.rerun_command import own_fields
from tools.rerun_command import rerun_command
from trainers import cross_validate
from trainers import train
from trainers.command_line import parse
from trainers.config import load_recipe
from trainers.overrides import overrides
from trainers.workdir import recipe_fields

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def stored_runs():
    """(recipe, config, folds) of every result file of a training."""
    for path in sorted(RESULTS.glob("*/*.json")):
        found = json.loads(path.read_text())
        if path.parent.name == "n_digit":
            yield found["recipe"], n_digit_table.config_of(found), []
        elif path.parent.name == "verification":
            for run in found["runs"].values():
                yield found["recipe"], run["config"], []
        elif path.parent.name in ("cross_validation", "distance_depth"):
            yield found["recipe"], found["config"], list(found["folds"])
        elif path.parent.name == "uncertainty":
            start = found.get("initial_run")
            if start is not None:
                yield start["recipe"], start["config"], []
            if not own_fields(found["recipe"], found["config"]):
                yield found["recipe"], found["config"], []


def test_every_stored_run_is_repeated_by_its_command():
    count = 0
    for recipe, config, folds in stored_runs():
        command = rerun_command(recipe, config, "runs/x", folds=folds)
        words = shlex.split(command.partition(" && ")[0])
        module = {"trainers.train": train}.get(words[2], cross_validate)
        arguments = parse(module.parser(), words[3:])
        again = recipe_fields(
            load_recipe(arguments.config, arguments.overrides)
        )
        if folds:
            assert arguments.folds == [int(fold) for fold in folds]
            config = config | {"folds": {**config["folds"], "fold": 0}}
        for field, value in again.items():
            if field in config and not isinstance(value, dict):
                assert value == config[field], (recipe, field)
        assert (
            overrides(recipe, again).items()
            <= overrides(recipe, config).items()
        )
        count += 1
    assert count > 80


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
