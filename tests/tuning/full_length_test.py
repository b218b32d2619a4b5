"""The printed fields that train a winner for the length of its recipe."""

import json
import types

import keras_tuner
import pytest

from trainers.config import load_recipe
from trainers.config.load import load_function
from trainers.config.run_config import config_of
from tuning import search
from tuning.full_length import kept_in_full


def fields(recipe, space_name, overrides, **fixed):
    """The winner's run, and the fields that the next command sets."""
    space = load_function(
        space_name, search.SPACES, "space", "space", search.space_names()
    )
    values = keras_tuner.HyperParameters()
    for name, value in fixed.items():
        values.Fixed(name, value)
    make_run = search.run_maker(load_recipe(recipe, overrides), space)
    short = make_run(values)
    trial = types.SimpleNamespace(hyperparameters=values)
    tuner = types.SimpleNamespace(
        make_run=make_run,
        oracle=types.SimpleNamespace(trials={"0": trial}),
    )
    results = {
        "recipe": recipe,
        "overrides": overrides,
        "best": {"trial": "0"},
    }
    found = search._fields_of_full_length(space, tuner, results)
    return short, set(found)


def test_a_schedule_that_the_space_makes_is_as_long_as_the_training():
    recipe = load_recipe("demo")
    num_steps = recipe.training.num_epochs * recipe.training.steps_per_epoch
    short, found = fields(
        "demo",
        "stochastic_prototypes",
        ["num_epochs=1", "steps_per_epoch=3"],
    )
    rate = short.optimizer.arguments["learning_rate"]
    assert rate.arguments["decay_steps"] == 3
    assert found == {
        f"num_epochs={recipe.training.num_epochs}",
        f"steps_per_epoch={recipe.training.steps_per_epoch}",
        f"optimizer.learning_rate.decay_steps={num_steps}",
    }


@pytest.mark.parametrize(
    "override",
    ["dataset=sprites/weapon_visible", "seed=3", "precision=mixed_bfloat16"],
)
def test_fields_other_than_the_length_keep_their_searched_values(override):
    recipe = load_recipe("sprites_f_statistic")
    _, found = fields(
        "sprites_f_statistic", "f_statistic", [override, "num_epochs=4"]
    )
    assert found == {f"num_epochs={recipe.training.num_epochs}"}


def test_a_schedule_of_the_overrides_is_as_long_as_the_training():
    """Where the recipe has a plain learning rate."""
    recipe = load_recipe("cub200_binomial_deviance")
    steps = recipe.training.num_epochs * recipe.training.steps_per_epoch
    rate = "optimizer.learning_rate"
    assert not hasattr(recipe.optimizer.arguments["learning_rate"], "name")
    short = recipe.training.steps_per_epoch
    overrides = [f"{rate}.name=CosineDecay", f"{rate}.decay_steps={short}"]
    overrides += [f"{rate}.initial_learning_rate=0.001", "num_epochs=1"]
    _, found = fields("cub200_binomial_deviance", "learning_rate", overrides)
    assert found == {
        f"num_epochs={recipe.training.num_epochs}",
        f"{rate}.decay_steps={steps}",
    }


def test_a_warm_up_stays_and_the_decay_ends_with_the_training():
    recipe = load_recipe("cub200_binomial_deviance")
    steps = recipe.training.num_epochs * recipe.training.steps_per_epoch
    short = recipe.training.steps_per_epoch
    rate = "optimizer.learning_rate"
    overrides = [
        f"{rate}.name=CosineDecay",
        f"{rate}.initial_learning_rate=0.0",
        f"{rate}.warmup_target=0.001",
        f"{rate}.warmup_steps=10",
        f"{rate}.decay_steps={short - 10}",
        "num_epochs=1",
    ]
    _, found = fields("cub200_binomial_deviance", "learning_rate", overrides)
    assert f"{rate}.decay_steps={steps - 10}" in found


def test_another_schedule_than_the_recipes_is_stretched_too():
    """A longer training has as many halvings."""
    recipe = load_recipe("omniglot_retrieval_triplet")
    rate = "optimizer.learning_rate"
    full = recipe.training.num_epochs * recipe.training.steps_per_epoch
    assert recipe.optimizer.arguments["learning_rate"].name == "CosineDecay"
    overrides = [
        f"num_epochs={recipe.training.num_epochs // 4}",
        f"{rate}.name=ExponentialDecay",
        f"{rate}.initial_learning_rate=0.001",
        f"{rate}.decay_rate=0.5",
        f"{rate}.decay_steps=100",
    ]
    short = load_recipe("omniglot_retrieval_triplet", overrides)
    ratio = full / (short.training.num_epochs * short.training.steps_per_epoch)
    kept = kept_in_full("omniglot_retrieval_triplet", overrides)
    assert f"{rate}.decay_steps={round(100 * ratio)}" in kept
    assert f"{rate}.name=ExponentialDecay" in kept
    assert not any(field.startswith("num_epochs") for field in kept)


RATE = "optimizer.learning_rate"
SHORT = ["num_epochs=2", "steps_per_epoch=10"]  # of 20 * 100 in `demo`


@pytest.fixture
def in_pieces(tmp_path):
    """`demo` with a rate that drops after 1000 and 1500 of 2000 batches."""
    config = config_of(load_recipe("demo"))
    config["optimizer"]["learning_rate"] = {
        "name": "PiecewiseConstantDecay",
        "boundaries": [1000, 1500],
        "values": [1e-3, 1e-4, 1e-5],
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"recipe": "own", "config": config}))
    return str(path)


def test_the_boundaries_of_the_recipe_are_restored(in_pieces):
    overrides = [*SHORT, f"{RATE}.boundaries=[10, 15]"]
    assert kept_in_full(in_pieces, overrides) == []
    short, found = fields(in_pieces, "learning_rate", overrides)
    boundaries = short.optimizer.arguments["learning_rate"].arguments
    assert list(boundaries["boundaries"]) == [10, 15]
    assert found == {
        "num_epochs=20",
        "steps_per_epoch=100",
        f"{RATE}.boundaries=[1000, 1500]",
    }


def test_boundaries_with_other_values_are_stretched(in_pieces):
    values = f"{RATE}.values=[0.01, 0.001]"
    overrides = [*SHORT, f"{RATE}.boundaries=[5]", values]
    kept = kept_in_full(in_pieces, overrides)
    assert kept == [values, f"{RATE}.boundaries=[{5 * 2000 // 20}]"]
    load_recipe(in_pieces, kept)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("CosineDecay", "decay_steps"),
        ("CosineDecayRestarts", "first_decay_steps"),
    ],
)
def test_every_decay_of_the_overrides_is_stretched(name, field):
    begun = [f"{RATE}.name={name}", f"{RATE}.initial_learning_rate=0.001"]
    kept = kept_in_full("demo", [*SHORT, *begun, f"{RATE}.{field}=20"])
    assert kept[:2] == begun
    steps = load_recipe("demo", kept).optimizer.arguments["learning_rate"]
    assert steps.arguments[field] == 20 * 2000 // 20


def test_a_warm_up_of_the_overrides_is_part_of_the_training():
    """The decay of the recipe still ends with its 2000 batches."""
    warm = [f"{RATE}.warmup_steps=4", f"{RATE}.warmup_target=0.01"]
    kept = kept_in_full("demo", [*SHORT, *warm, f"{RATE}.decay_steps=16"])
    assert kept == [*warm, f"{RATE}.decay_steps={2000 - 4}"]


def test_places_are_named_and_searched_values_kept():
    overrides = ["batches.num_classes=12", "data_dir=/data", "num_epochs=2"]
    _, found = fields("an4_learned_distance", "an4", overrides)
    recipe = load_recipe("an4_learned_distance")
    assert found == {
        "data_dir=/data",
        f"num_epochs={recipe.training.num_epochs}",
    }
