"""The settings are read back as TensorBoard's plugins read them."""

import json

import keras
import numpy as np
import pytest
from tensorboard.backend.event_processing import data_provider
from tensorboard.backend.event_processing import plugin_event_multiplexer
from tensorboard.context import RequestContext
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2
from tensorboard.plugins.hparams import backend_context
from tensorboard.plugins.hparams import list_session_groups

from embeddings_tf import callbacks

SETTINGS = {
    "seed": 3,
    "encoder": {"name": "mine", "units": [4, 2], "dropout": None},
    "optimizer": {"learning_rate": np.float64(0.25), "nesterov": True},
}
HPARAMS = {
    "seed": 3.0,
    "encoder.name": "mine",
    "encoder.units": "[4, 2]",
    "encoder.dropout": "None",
    "optimizer.learning_rate": 0.25,
    "optimizer.nesterov": True,
}


def write(folder, values, settings=SETTINGS, mode="max", **options):
    callback = callbacks.RunSettings(
        settings, folder, "val_recall_at_1", mode, **options
    )
    callback.on_train_begin()
    for epoch, value in enumerate(values):
        callback.on_epoch_end(epoch, {"val_recall_at_1": value})
    callback.on_train_end()


def provider(folder):
    runs = plugin_event_multiplexer.EventMultiplexer()
    runs.AddRunsFromDirectory(str(folder)).Reload()
    return data_provider.MultiplexerDataProvider(runs, str(folder))


def rows(folder):
    """Hyper-parameters and metrics of each row of the tab HParams."""
    found = {}
    for group in groups(folder):
        hparams = {}
        for name, value in group.hparams.items():
            hparams[name] = getattr(value, value.WhichOneof("kind"))
        metrics = {m.name.tag: m.value for m in group.metric_values}
        found[hparams["seed"]] = hparams, metrics
    return found


def groups(folder):
    """The rows of the tab HParams, as TensorBoard's messages."""
    context = backend_context.Context(
        base_plugin.TBContext(data_provider=provider(folder))
    )
    request = RequestContext()
    metadata = context.hparams_metadata(request, "")
    experiment = context.experiment_from_metadata(
        request, "", True, metadata, None
    )
    wanted = api_pb2.ListSessionGroupsRequest(
        start_index=0,
        slice_size=9,
        allowed_statuses=range(4),
        aggregation_type=api_pb2.AGGREGATION_AVG,
        include_metrics=True,
    )
    for metric in experiment.metric_infos:
        wanted.col_params.add(metric=metric.name)
    handler = list_session_groups.Handler(request, context, "", wanted)
    return handler.run().session_groups


def test_the_tab_hparams_has_settings_and_best_value(tmp_path):
    write(tmp_path / "a", [0.5, 0.75, 0.25])
    write(tmp_path / "b", [0.5], SETTINGS | {"seed": 4, "more": "here"})
    found = rows(tmp_path)
    assert set(found) == {3, 4}
    assert found[3] == (HPARAMS, {"best_val_recall_at_1": 0.75})
    assert found[4][0]["more"] == "here"
    assert found[4][1] == {"best_val_recall_at_1": 0.5}


def test_every_run_has_a_row_with_its_name(tmp_path):
    """Equal settings have rows of their own."""
    for name, value in (("a", 0.5), ("b", 0.75)):
        write(tmp_path / name, [value])
    write(tmp_path / "c", [0.25], name="mine (runs/mine)")
    found = {
        group.name: group.metric_values[0].value for group in groups(tmp_path)
    }
    assert found == {
        str(tmp_path / "a"): 0.5,
        str(tmp_path / "b"): 0.75,
        "mine (runs/mine)": 0.25,
    }


def test_a_resumed_training_knows_its_best_value(tmp_path):
    write(tmp_path, [0.5, 0.75], initial_value_threshold=0.6, mode="min")
    assert rows(tmp_path)[3][1] == {"best_val_recall_at_1": 0.5}
    write(tmp_path / "c", [0.5], initial_value_threshold=0.9)
    assert rows(tmp_path / "c")[3][1]["best_val_recall_at_1"] == (
        pytest.approx(0.9)
    )


def test_the_text_is_the_settings_as_json(tmp_path):
    write(tmp_path, [])
    tensors = provider(tmp_path).read_tensors(
        RequestContext(),
        experiment_id="",
        plugin_name="text",
        downsample=9,
    )
    (datum,) = tensors["settings"]["settings"]
    lines = datum.numpy.item().decode().split("\n")
    assert all(line.startswith("    ") for line in lines)
    shown = json.loads("\n".join(lines))
    assert shown == {
        **SETTINGS,
        "optimizer": {
            "learning_rate": 0.25,
            "nesterov": True,
        },
    }


def test_in_a_fit(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", loss="mse")
    x, y = np.ones((4, 2)), np.zeros((4, 1))
    callback = callbacks.RunSettings(SETTINGS, tmp_path, "loss", "min")
    history = model.fit(x, y, epochs=2, verbose=0, callbacks=[callback])
    assert callback.best == min(history.history["loss"])
    (tag,) = rows(tmp_path)[3][1]
    assert tag == "best_loss"


def test_epochs_without_the_monitored_value_are_skipped(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", loss="mse")
    x, y = np.ones((4, 2)), np.zeros((4, 1))
    callback = callbacks.RunSettings(SETTINGS, tmp_path, "val_loss", "min")
    history = model.fit(
        x,
        y,
        epochs=4,
        verbose=0,
        validation_data=(x, y),
        validation_freq=2,
        callbacks=[callback],
    )
    assert len(history.history["val_loss"]) == 2
    assert callback.best == min(history.history["val_loss"])
    missing = callbacks.RunSettings(SETTINGS, tmp_path / "b", "acc")
    with pytest.warns(UserWarning, match="have loss; received 'acc'"):
        model.fit(x, y, epochs=2, verbose=0, callbacks=[missing])
    assert missing.best is None and rows(tmp_path / "b")[3][1] == {}


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_never_the_best(bad, mode, tmp_path):
    values = [bad, 0.75, bad, 0.5, bad]
    write(tmp_path, values, mode=mode)
    best = {"min": 0.5, "max": 0.75}[mode]
    assert rows(tmp_path)[3][1] == {"best_val_recall_at_1": best}


def test_a_fit_after_one_that_failed(tmp_path):
    class Fail(keras.callbacks.Callback):
        is_on = True

        def on_epoch_end(self, epoch, logs=None):
            if self.is_on:
                raise RuntimeError("failed")

    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", loss="mse")
    x, y = np.ones((4, 2)), np.zeros((4, 1))
    fail = Fail()
    both = [callbacks.RunSettings(SETTINGS, tmp_path, "loss", "min"), fail]
    with pytest.raises(RuntimeError, match="failed"):
        model.fit(x, y, verbose=0, callbacks=both)
    first = both[0].best
    assert rows(tmp_path)[3][1]["best_loss"] == pytest.approx(first)
    fail.is_on = False
    model.fit(x, y, verbose=0, callbacks=both)
    assert both[0].best < first


@pytest.mark.parametrize(
    "settings", [{}, None, {"a": object()}, {3: 4}, {"a": {"b": {1, 2}}}]
)
def test_settings_that_are_no_values(settings, tmp_path):
    with pytest.raises(ValueError, match="received"):
        callbacks.RunSettings(settings, tmp_path)


def test_two_values_of_one_path_are_refused(tmp_path):
    for settings in ({"a": {"b": 1}, "a.b": 2}, {"a.b": 2, "a": {"b": 2}}):
        with pytest.raises(ValueError, match="received two for 'a.b'. Rename"):
            callbacks.RunSettings(settings, tmp_path)
