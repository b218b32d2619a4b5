"""A monitor has a direction: losses fall, accuracies rise."""

import ast
import pathlib

import keras
import numpy as np
import pytest

from trainers import fit
from trainers.config import load_recipe
from trainers.config.load import recipe_names
from trainers.training import checkpoint
from trainers.training import monitor
from trainers.training.plateau import ReduceOnPlateau

ROOT = pathlib.Path(__file__).parents[3]
TINY = "tests/trainers/tiny.py"


def after(name, values, tmp_path, patience=100):
    """The checkpoint's state after epochs with these values."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(1.0))
    saver = checkpoint.Checkpoint(tmp_path, name, patience, 100)
    saver.set_model(model)
    saver.on_train_begin()
    for epoch, value in enumerate(values):
        model.layers[0].bias.assign([epoch + 1])
        saver.on_epoch_end(epoch, {name: value})
        if saver.state["finished"]:
            break
    return saver.state


@pytest.mark.parametrize(
    ("name", "best"), [("loss", np.argmin), ("val_recall_at_1", np.argmax)]
)
def test_the_checkpoint_keeps_the_best_epoch(name, best, tmp_path):
    values = [0.5, 0.3, 0.9, 0.4]
    state = after(name, values, tmp_path)
    assert state["best_epoch"] == best(values) + 1
    assert state["best_value"] == values[best(values)]
    kept = keras.saving.load_model(tmp_path / "best.keras", compile=False)
    assert kept.layers[0].bias.numpy() == best(values) + 1


def test_patience_counts_epochs_in_which_the_loss_does_not_fall(tmp_path):
    falling = np.linspace(1, 0.1, 8)
    state = after("loss", falling, tmp_path, patience=2)
    assert state["epoch"] == state["best_epoch"] == 8
    state = after("loss", [0.5, 0.6, 0.7, 0.8], tmp_path, patience=2)
    assert (state["epoch"], state["best_epoch"]) == (3, 1)


def test_the_rate_stays_while_the_loss_falls():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(1.0))
    callback = ReduceOnPlateau(
        "loss", {}, factor=0.5, patience=1, min_learning_rate=0.0
    )
    callback.set_model(model)
    callback.on_train_begin()
    for epoch, value in enumerate([0.9, 0.8, 0.7, 0.6, 0.7, 0.7, 0.7]):
        logs = {"loss": value}
        callback.on_epoch_end(epoch, logs)
        # Two epochs without improvement lower it for the next.
        assert logs["learning_rate"] == (1.0 if epoch < 6 else 0.5)


def logged_names():
    """The names of the measures in the source of the evaluations."""
    found = {"loss"}
    for name in ("disentanglement", "few_shot", "retrieval", "verification"):
        source = (ROOT / "trainers/evaluators" / f"{name}.py").read_text()
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef) and "validation" in node.name:
                for inner in ast.walk(node):
                    # measures = {"name": function}; measures["name"] = ...
                    if isinstance(inner, ast.Dict):
                        keys = inner.keys
                    elif isinstance(inner, ast.Subscript) and isinstance(
                        inner.ctx, ast.Store
                    ):
                        keys = [inner.slice]
                    else:
                        continue
                    found |= {
                        f"val_{key.value}"
                        for key in keys
                        if isinstance(key, ast.Constant)
                    }
    return found


def test_every_measure_has_a_direction():
    names = logged_names()
    assert "val_mean_recall" in names and "val_log_likelihood" in names
    for name in names:
        expected = "min" if name == "loss" else "max"
        assert monitor.direction(name) == expected
    # A beta-VAE also logs a log-likelihood and a divergence.
    assert monitor.direction("reconstruction") == "max"
    assert monitor.direction("kl") == "min"
    for recipe in recipe_names():
        monitor.direction(load_recipe(recipe).training.monitor)


def test_a_name_without_a_direction_is_refused(tmp_path):
    with pytest.raises(ValueError, match="val_eer.*they have loss"):
        monitor.direction("val_eer")
    with pytest.raises(ValueError, match="val_eer"):
        checkpoint.Checkpoint(tmp_path, "val_eer", 1, 1)


@pytest.mark.slow
def test_a_run_is_chosen_by_its_loss(tmp_path):
    overrides = ["num_epochs=3", "monitor=loss", "deterministic=False"]
    training = fit.fit(load_recipe(TINY, overrides), TINY, tmp_path)["training"]
    losses = [row["loss"] for row in training["history"]]
    assert training["best_epoch"] == np.argmin(losses) + 1
    assert training["best_value"] == min(losses)
