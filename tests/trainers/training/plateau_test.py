"""A learning rate that falls on a plateau, in a run that is killed."""

import keras
import numpy as np
import pytest

from trainers import fit
from trainers.config import load_recipe
from trainers.training import checkpoint
from trainers.training.plateau import ReduceOnPlateau

TINY = "tests/trainers/tiny.py"


def rates(values, **arguments):
    """The learning rate in each epoch for these validation values."""
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(1.0))
    callback = ReduceOnPlateau("val_recall_at_1", {}, **arguments)
    callback.set_model(model)
    callback.on_train_begin()
    found = []
    for epoch, value in enumerate(values):
        logs = {"val_recall_at_1": value}
        callback.on_epoch_end(epoch, logs)
        found.append(logs["learning_rate"])
    return found


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_against_a_loop(patience):
    values = np.random.default_rng(patience).integers(0, 6, 60) / 10
    values[30] = 0.9
    rate, best, bad, expected = 1.0, -1.0, 0, []
    for value in values:
        expected.append(rate)
        bad = 0 if value > best else bad + 1
        best = max(best, value)
        if bad == patience + 1:
            rate, bad = max(rate / 4, 1e-3), 0
    assert expected[-1] == pytest.approx(1e-3)
    assert len(set(expected)) == 6
    found = rates(
        values, factor=0.25, patience=patience, min_learning_rate=1e-3
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_rate_below_the_least_does_not_rise():
    found = rates([0.5] * 9, factor=0.5, patience=1, min_learning_rate=2.0)
    assert found == [1.0] * 9


def test_a_schedule_cannot_be_lowered():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    rate = keras.optimizers.schedules.CosineDecay(1.0, 5)
    model.compile(keras.optimizers.SGD(rate))
    callback = ReduceOnPlateau(
        "val_recall_at_1", {}, factor=0.5, patience=1, min_learning_rate=0.0
    )
    callback.set_model(model)
    with pytest.raises(ValueError, match="is a schedule"):
        callback.on_train_begin()


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("factor=1.5", "between 0 and 1; received 1.5"),
        ("factor=-0.5", "between 0 and 1; received -0.5"),
        ("patience=0", "received 0 and 0.0"),
        ("min_learning_rate=-1", "received 10 and -1.0"),
    ],
)
def test_a_run_with_bad_fields(field, message):
    overrides = ["optimizer.learning_rate=0.1", "plateau.factor=0.5"]
    with pytest.raises(ValueError, match=message):
        load_recipe(TINY, [*overrides, f"plateau.{field}"])


def tiny(workdir):
    """A rate so small that no epoch improves on the first."""
    workdir.mkdir(exist_ok=True)
    overrides = ["num_epochs=6", "patience=6", "deterministic=False"]
    overrides += ["optimizer.name=SGDWithL2", "optimizer.learning_rate=1e-12"]
    overrides += ["optimizer.momentum=0.9", "optimizer.l2=1e-3"]
    overrides += ["plateau.factor=0.5", "plateau.patience=1"]
    run = load_recipe(TINY, overrides)
    return fit.fit(run, TINY, workdir)["training"]


def without_times(training):
    return [
        {name: value for name, value in epoch.items() if name != "input_wait"}
        for epoch in training["history"]
    ]


@pytest.mark.slow
def test_killed_while_waiting_a_run_ends_with_the_same_result(
    tmp_path, monkeypatch
):
    unbroken = tiny(tmp_path / "unbroken")
    found = [epoch["learning_rate"] for epoch in unbroken["history"]]
    expected = 1e-12 / np.array([1, 1, 1, 2, 2, 4])
    np.testing.assert_allclose(found, expected, rtol=1e-5)

    save = checkpoint.save

    def killed(model, state, directory):
        save(model, state, directory)
        if state["epoch"] == 2:  # one epoch without improvement
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save", killed)
        with pytest.raises(KeyboardInterrupt):
            tiny(tmp_path / "killed")
    again = tiny(tmp_path / "killed")
    assert without_times(again) == without_times(unbroken)
    weights = [
        keras.saving.load_model(
            tmp_path / name / "checkpoints" / "latest.keras"
        ).get_weights()
        for name in ("unbroken", "killed")
    ]
    for one, other in zip(*weights, strict=True):
        np.testing.assert_array_equal(one, other)
