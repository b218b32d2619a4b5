import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf import losses
from embeddings_tf import models
from embeddings_tf import objectives
from tests.trainers.train_test import TINY
from tests.trainers.train_test import assert_equal_runs
from trainers import fit
from trainers.config import load_recipe
from trainers.training import checkpoint
from trainers.training import steps_per_execution as module
from trainers.training.steps_per_execution import largest_divisor
from trainers.training.steps_per_execution import steps_per_execution

X = np.random.default_rng(0).normal(size=(8, 5)).astype("float32")
BATCH = tf.constant(X), tf.constant(np.arange(8) // 2)


def small_model():
    encoder = keras.Sequential(
        [
            keras.Input((5,)),
            keras.layers.BatchNormalization(),
            keras.layers.Dropout(0.5),
            keras.layers.Dense(3),
        ]
    )
    model = models.EmbeddingModel(encoder, objectives.SoftContrastive())
    model.compile("adam")
    return model


@pytest.mark.parametrize(
    ("number", "expected"),
    [(1, 1), (3, 1), (7, 1), (10, 5), (11, 1), (12, 6), (50, 10), (64, 8)],
)
def test_it_divides_the_epoch(number, expected):
    assert largest_divisor(number) == expected


@pytest.mark.parametrize(("seconds", "expected"), [(1e-3, 10), (1e-2, 1)])
def test_small_steps_run_together(monkeypatch, seconds, expected):
    monkeypatch.setattr(module, "_seconds", lambda *_: seconds)
    assert steps_per_execution(small_model(), BATCH, 50) == expected


def test_large_models_are_not_run(monkeypatch):
    encoder = keras.Sequential([keras.Input((5,)), keras.layers.Dense(3)])
    encoder.compile("adam", losses.TripletLoss())
    monkeypatch.setattr(module, "_seconds", lambda *_: 1e-3)
    monkeypatch.setattr(module, "MOST_OPERATIONS", 6 * 8 * 18)
    assert steps_per_execution(encoder, BATCH, 50) == 10
    monkeypatch.setattr(module, "MOST_OPERATIONS", 6 * 8 * 18 - 1)
    monkeypatch.setattr(module, "_seconds", None)
    assert steps_per_execution(encoder, BATCH, 50) == 1


def test_measuring_changes_nothing():
    model = small_model()
    model.fit(*BATCH, epochs=1, verbose=0)
    before = [v.numpy() for v in (*model.variables, *model.metrics_variables)]
    assert steps_per_execution(model, BATCH, 50) in (1, 10)
    after = [v.numpy() for v in (*model.variables, *model.metrics_variables)]
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
def test_an_interrupted_run_goes_on_with_its_number(
    tmp_path, monkeypatch, in_checkout
):
    """Three steps of an epoch in one call end as three calls do."""

    def train(name):
        keras.backend.clear_session()
        workdir = tmp_path / name
        workdir.mkdir(exist_ok=True)
        fit.fit(load_recipe(TINY, ["deterministic=False"]), TINY, workdir)

    def interrupt(model, state, directory):
        save(model, state, directory)
        if state["epoch"] == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(fit, "steps_per_execution", lambda *_: 1)
    train("single")
    save = checkpoint.save
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(fit, "steps_per_execution", lambda *_: 3)
        patch.setattr(checkpoint, "save", interrupt)
        train("together")
    monkeypatch.setattr(fit, "steps_per_execution", None)
    train("together")
    _, state = checkpoint.restore(tmp_path / "together" / "checkpoints")
    assert state["epoch"] == 4
    assert state["steps_per_execution"] == 3
    assert_equal_runs(tmp_path / "single", tmp_path / "together")
