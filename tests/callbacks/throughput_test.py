import itertools
import subprocess
import sys
import time

import keras
import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.callbacks import Throughput

PAUSE = 0.2  # much longer than a step on a busy machine


def share(make_data, step=0.0):
    """`input_wait` of an epoch of 5 steps that take `step` seconds."""

    def rest(_):
        time.sleep(step)
        return np.float32(0)

    def slow(y_true, y_pred):
        # Depends on the batch; otherwise it would run during the wait.
        zero = tf.numpy_function(rest, [y_pred], tf.float32)
        return tf.reduce_mean(y_pred, axis=-1) + tf.ensure_shape(zero, ())

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", loss=slow)
    data = tf.data.Dataset.from_tensors((np.ones((4, 2)), np.ones(4)))
    input_wait = Throughput()
    history = model.fit(
        input_wait.measured(make_data(data.repeat())),
        steps_per_epoch=5,
        callbacks=[input_wait],
        verbose=0,
    )
    (share,) = history.history["input_wait"]
    return share


def pause(x, y):
    tf.numpy_function(lambda: time.sleep(PAUSE), [], [])
    return x, y


def test_slow_and_fast_pipelines_are_distinguished():
    assert 0.6 < share(lambda data: data.map(pause)) <= 1
    assert 0 <= share(lambda data: data.prefetch(2), step=PAUSE) < 0.3


def test_prefetching_during_a_step_does_not_count_as_waiting():
    """Otherwise the pause would be a third of the time."""
    waited = share(lambda data: data.map(pause).prefetch(1), step=2 * PAUSE)
    assert waited < 0.2


def test_batches_are_the_same():
    data = tf.data.Dataset.range(5).map(lambda i: (i, 2 * i))
    batches = list(Throughput().measured(data).as_numpy_iterator())
    assert batches == [(i, 2 * i) for i in range(5)]


@pytest.mark.slow
def test_where_operations_must_be_deterministic():
    """In a new process, because determinism cannot be switched off."""
    code = """
import tensorflow as tf
tf.config.experimental.enable_op_determinism()
from embeddings_tf.callbacks import Throughput
data = Throughput().measured(tf.data.Dataset.range(3))
assert list(data.as_numpy_iterator()) == [0, 1, 2]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_single_step_is_not_measured():
    """The only step includes compiling."""
    callback = Throughput()
    callback.on_train_begin()
    callback.on_epoch_begin(0)
    callback.on_train_batch_begin(0)
    callback.on_train_batch_end(0)
    logs = {"loss": 1.0}
    callback.on_epoch_end(0, logs)
    assert logs == {"loss": 1.0}


@pytest.mark.parametrize("waited", [0.5, 3.0])
def test_a_share_is_at_most_one(waited, monkeypatch):
    # For each step: its start, the arrival of its batch, and its end.
    clock = iter([0.0, 5.0, 9.0, 10.0, 10.0 + waited, 12.0])
    callback = Throughput()
    callback.measured(tf.data.Dataset.range(1))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    callback.on_train_begin()
    callback.on_epoch_begin(0)
    for begin in (0.0, 10.0):
        callback.on_train_batch_begin(0)
        callback._add_wait_since(begin)
        callback.on_train_batch_end(0)
    logs = {}
    callback.on_epoch_end(0, logs)
    assert logs == {
        "input_wait": min(1.0, waited / 2),
        "steps_per_second": 1 / 2,
    }


@pytest.mark.parametrize(("num_steps", "counted"), [(5, 1), (10, 6), (8, 4)])
def test_only_steps_that_ran_are_counted(num_steps, counted, monkeypatch):
    """Keras counts four for the last steps, also where the data ends."""
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", loss="mse", steps_per_execution=4)
    callback, clock = Throughput(), itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    rows = np.ones((num_steps, 2), "float32")
    data = tf.data.Dataset.from_tensor_slices((rows, rows[:, :1])).batch(1)
    history = model.fit(data, callbacks=[callback], verbose=0).history
    executions = -(-num_steps // 4) - 1  # each takes one tick of the clock
    assert history["steps_per_second"] == [counted / executions]


def test_a_pipeline_that_is_not_measured_has_no_wait():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", loss="mse")
    data = tf.data.Dataset.from_tensors((np.ones((4, 2)), np.ones(4)))
    throughput = Throughput()
    measured = throughput.measured(data.repeat(3))
    for batches, has_wait in (
        (data.repeat(3), False),
        (measured, True),
        (data.repeat(3), False),
    ):
        logs = model.fit(batches, callbacks=[throughput], verbose=0).history
        assert "steps_per_second" in logs
        assert ("input_wait" in logs) == has_wait


def test_measures_datasets_only():
    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 1

        def __getitem__(self, index):
            return np.ones((4, 2)), np.ones(4)

    throughput = Throughput()
    with pytest.raises(ValueError, match="tf.data.Dataset; received Batches"):
        throughput.measured(Batches())
    # As the message says, the callback works without.
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", loss="mse")
    logs = model.fit(
        Batches(), callbacks=[throughput], verbose=0, steps_per_epoch=1
    ).history
    assert "input_wait" not in logs
