"""What a training command writes for TensorBoard, without being asked."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.plugins.hparams import metadata

from embeddings_tf import callbacks
from embeddings_tf import datasets
from tests.trainers import commands
from trainers import fit
from trainers import train
from trainers.data.sprite_images import sprite_images
from trainers.training.checkpoint import restore
from trainers.training.watch import ShowHeldOut
from trainers.training.watch import rows_to_show


def events(folder):
    found = event_accumulator.EventAccumulator(str(folder), {"tensors": 0})
    found.Reload()
    return found


def test_the_folder_of_a_run(trained):
    board = trained / "tensorboard"
    training = events(board / "train")
    found = set(training.Tags()["tensors"])
    assert {
        "diagnostics/active_queries",
        "diagnostics/distance_between",
        "diagnostics/effective_rank",
        "diagnostics/gradient_norm",
        "diagnostics/noise_variance",
        "diagnostics/variance",
        "distributions/distance_within",
        "distributions/variance",
        "epoch_input_wait",
        "epoch_learning_rate",
        "epoch_loss",
        "epoch_steps_per_second",
    } <= found
    steps = [event.step for event in training.Tensors("diagnostics/norm")]
    assert steps == [3, 6], "two epochs of three steps"
    shown = events(board / "validation").Tags()["tensors"]
    assert {"embedding", "neighbours", "epoch_few_shot_accuracy"} <= set(shown)
    settings = events(board / "settings").Tags()["tensors"]
    assert set(settings) == {
        "best_val_few_shot_accuracy",
        "settings",
        metadata.SESSION_START_INFO_TAG,
    }
    start = metadata.parse_session_start_info_plugin_data(
        events(board / "settings")
        .SummaryMetadata(metadata.SESSION_START_INFO_TAG)
        .plugin_data.content
    )
    assert start.group_name == f"{trained.name} ({trained})"
    files = {path.name for path in board.iterdir()}
    assert {"projector_config.pbtxt", "embedding_sprite.png"} <= files
    assert len(np.loadtxt(board / "embedding.tsv")) <= 500


def test_recordings_are_no_images():
    frames = np.zeros((9, 3), np.float32)
    assert sprite_images(datasets.Utterances(frames, [4, 5])) is None


@pytest.mark.parametrize("channels", [1, 2])
def test_images_are_shown(channels):
    x = np.full((4, 5, 6, channels), 7, np.uint8)
    found = sprite_images(x)
    assert found is None if channels == 2 else np.array_equal(found, x)


@pytest.mark.slow
def test_recordings_of_several_lengths_train(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    for speaker in range(12):
        folder = tmp_path / "voices" / str(speaker)
        folder.mkdir(parents=True)
        for number, length in enumerate(rng.integers(4000, 8000, 6)):
            samples = rng.uniform(-0.3, 0.3, (length, 1)).astype("float32")
            wave = tf.audio.encode_wav(samples, 8000).numpy()
            (folder / f"{number}.wav").write_bytes(wave)
    monkeypatch.chdir(tmp_path)
    words = ["audio_folder:voices", "--goal", "verify", "--workdir", "run"]
    words += ["--config.num_epochs=1", "--config.steps_per_epoch=2"]
    words += ["--config.deterministic=False"]
    assert train.main(words) == 0
    assert (tmp_path / "run" / "tensorboard" / "validation").is_dir()


@pytest.mark.slow
def test_watching_changes_nothing(tmp_path, in_checkout, monkeypatch):
    def weights(name):
        words = commands.tiny(train, tmp_path / name)
        assert commands.call(train, *words) == 0
        model, state = restore(tmp_path / name / "checkpoints")
        values = [*model.get_weights(), *state["seeds"]]
        return state["history"], values

    watched = weights("watched")
    monkeypatch.setattr(fit, "watch", lambda *arguments: [])
    alone = weights("alone")
    assert watched[0] == alone[0]
    for one, other in zip(watched[1], alone[1], strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_of_whole_classes():
    labels = np.repeat(np.arange(10), 20)
    assert rows_to_show(labels, 200).tolist() == list(range(200))
    rows = rows_to_show(labels, 60)
    classes, counts = np.unique(labels[rows], return_counts=True)
    assert classes.tolist() == [0, 4, 9] and set(counts) == {20}
    # Two classes do not fit as a whole.
    assert rows_to_show(labels, 10).tolist() == [*range(5), *range(180, 185)]


@pytest.mark.parametrize("value", [-5.0, 300.0])
def test_inputs_that_are_no_images(value, tmp_path):
    x = np.zeros((6, 4, 4, 1), "float32")
    x[2] = value
    held_out = callbacks.EmbeddingEvaluation(x, np.arange(6) % 2)
    show = ShowHeldOut(held_out, tmp_path)
    model = keras.Sequential(
        [
            keras.Input((4, 4, 1)),
            keras.layers.Flatten(),
            keras.layers.Dense(2),
        ]
    )
    model.compile("sgd", "mse")
    for callback in (held_out, show):
        callback.set_model(model)
        callback.on_epoch_end(0, {})
    show.on_train_end()
    names = {path.name for path in tmp_path.iterdir()}
    assert "embedding.tsv" in names
    assert "embedding_sprite.png" not in names
