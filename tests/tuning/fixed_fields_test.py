"""Fields of overrides keep their value in every trial, or are refused."""

import keras_tuner
import pytest

from trainers.config import load_recipe
from trainers.config.load import load_function
from trainers.config.run_config import config_of
from tuning.fixed_fields import fixed_fields
from tuning.search import SPACES
from tuning.search import run_maker
from tuning.search import space_names

RECIPE = "omniglot_retrieval_f_statistic"


def retrieval_space():
    return load_function("retrieval", SPACES, "space", "space", space_names())


def found(overrides, space):
    run = load_recipe(RECIPE, overrides)
    return run, fixed_fields(run, run_maker(run, space), overrides)


def trials(make_run, count, folder):
    """Draws like a search."""
    oracle = keras_tuner.oracles.RandomSearchOracle(
        objective=keras_tuner.Objective("val_recall_at_1", "max"),
        max_trials=count,
        seed=1,
    )
    oracle._set_project_dir(str(folder), "trials")
    hyperparameters = keras_tuner.HyperParameters()
    make_run(hyperparameters)
    oracle.update_space(hyperparameters)
    return [oracle.create_trial(f"worker {i}") for i in range(count)]


def test_a_field_that_the_space_draws_keeps_its_value_in_every_trial(tmp_path):
    overrides = ["encoder.dim=500", "training.num_epochs=5"]
    space = retrieval_space()
    run, fixed = found(overrides, space)
    assert fixed == {"encoder.dim": 500}
    drawn = trials(run_maker(run, space), 8, tmp_path / "drawn")
    dims = {trial.hyperparameters.values["encoder.dim"] for trial in drawn}
    assert len(dims) > 1, "without the override, it is drawn"
    make_run = run_maker(run, space, fixed)
    rates = set()
    for trial in trials(make_run, 8, tmp_path / "fixed"):
        values = trial.hyperparameters.values
        assert values["encoder.dim"] == 500
        config = config_of(make_run(trial.hyperparameters))
        assert config["encoder"]["dim"] == 500
        assert config["num_epochs"] == 5
        # A share of the dimensions that are kept.
        assert config["loss"]["num_dims"] in (5, 15, 50, 100, 250, 500)
        rates.add(values["optimizer.learning_rate"])
    assert len(rates) == 8, "others are drawn"


@pytest.mark.parametrize(
    ("override", "shown"),
    [
        ("batches.num_classes=7", "batches.num_classes to "),
        ("loss.num_dims=1", "loss.num_dims to "),
        (
            "optimizer.learning_rate.initial_learning_rate=0.003",
            "optimizer.learning_rate.initial_learning_rate to ",
        ),
    ],
)
def test_a_field_that_the_space_would_overwrite_is_refused(override, shown):
    message = f"the space sets config.{shown}.*would have no effect"
    with pytest.raises(ValueError, match=message):
        found([override], retrieval_space())


def test_a_schedule_that_the_space_draws_has_fields_of_its_own():
    def space(hyperparameters, config):
        if hyperparameters.Boolean("halve"):
            config.optimizer.learning_rate = {
                "name": "ExponentialDecay",
                "initial_learning_rate": 0.01,
                "decay_rate": 0.5,
                "decay_steps": 200,
            }

    _, fixed = found(["optimizer.learning_rate.decay_steps=1600"], space)
    assert fixed == {}
    with pytest.raises(ValueError, match="learning_rate.name to 'Expon"):
        found(["optimizer.learning_rate.name=CosineDecay"], space)


def test_values_that_the_recipe_refuses_are_no_conflict():
    def space(hyperparameters, config):
        dim = hyperparameters.Choice("encoder.dim", [16, -1])
        if dim < 0:
            raise ValueError("too few dimensions")
        config.encoder.dim = dim

    assert found(["num_epochs=3"], space)[1] == {}
    _, fixed = found(["encoder.dim=32"], space)
    assert fixed == {"encoder.dim": 32}


@pytest.mark.parametrize("number", [7, 40, 100])
def test_a_batch_that_does_not_divide_into_classes_is_refused(number):
    message = f"num_per_class must divide 60, .*; received {number}"
    with pytest.raises(ValueError, match=message):
        found([f"batches.num_per_class={number}"], retrieval_space())


def test_a_value_that_cannot_be_kept_is_refused():
    def space(hyperparameters, config):
        norm = hyperparameters.Choice("optimizer.clipnorm", [1.0, 10.0])
        config.optimizer.clipnorm = norm

    assert found(["optimizer.clipnorm=3.0"], space)[1] == {
        "optimizer.clipnorm": 3.0
    }
    with pytest.raises(ValueError, match="optimizer.clipnorm=None would"):
        found(["optimizer.clipnorm=None"], space)
