"""Checkpoints survive a full disk."""

import contextlib
import errno
import json
import os
import resource

import keras
import numpy as np
import pytest

from embeddings_tf.models.method import Method
from trainers.config import load_recipe
from trainers.config.run_config import config_of
from trainers.training import checkpoint
from trainers.training.best_file import best_file


@contextlib.contextmanager
def files_of_at_most(num_bytes):
    """Like a full disk: writing more bytes raises OSError."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


# Fingerprints, which `fit` adds to the state.
DATA = {"data_fingerprint": "01", "validation_fingerprint": "23"}


@pytest.fixture
def saved(tmp_path):
    """A model and its checkpoints of two epochs; the first is the best."""
    model = keras.Sequential([keras.Input((50,)), keras.layers.Dense(400)])
    model.compile(keras.optimizers.SGD(), loss="mse")
    for epoch in (1, 2):
        model.layers[0].bias.assign(np.full(400, epoch))
        checkpoint.save(model, state_of(epoch), tmp_path)
    return model, tmp_path


def state_of(epoch):
    return {
        "epoch": epoch,
        "best_epoch": 1,
        "best_value": 0.5,
        "finished": "",
        "seconds": 1.0,
        "history": [{"epoch": number + 1} for number in range(epoch)],
        "seeds": [],
        "input_wait": [],
        **DATA,
    }


def test_a_disk_that_fills_leaves_the_checkpoints_before(saved):
    model, directory = saved
    before = {name: (directory / name).read_bytes() for name in names(saved)}
    assert set(before) == {"latest.keras", "previous.keras", "best.keras"}
    model.layers[0].bias.assign(np.full(400, 3))
    for limit in (0, 10_000, len(before["latest.keras"]) - 1):
        with files_of_at_most(limit):
            with pytest.raises(OSError, match="of epoch 3 to .* are kept"):
                checkpoint.save(model, state_of(3), directory)
        after = {name: (directory / name).read_bytes() for name in names(saved)}
        assert after == before
    restored, state = checkpoint.restore(directory)
    assert state["epoch"] == 2
    np.testing.assert_array_equal(restored.layers[0].bias, np.full(400, 2))


def test_a_damaged_checkpoint_never_replaces_a_whole_one(saved):
    model, directory = saved
    latest = directory / "latest.keras"
    damaged = latest.read_bytes()[:-100]
    latest.write_bytes(damaged)
    _, state = checkpoint.restore(directory)
    assert state["epoch"] == 1
    # Killed before the next checkpoint, and after it was written.
    _, state = checkpoint.restore(directory)
    assert state["epoch"] == 1
    checkpoint.save(model, state_of(2), directory)
    assert checkpoint.restore(directory)[1]["epoch"] == 2
    latest.unlink()
    assert checkpoint.restore(directory)[1]["epoch"] == 1
    assert (directory / "damaged.keras").read_bytes() == damaged


def names(saved):
    return sorted(os.listdir(saved[1]))


def test_no_room_to_unpack_is_no_damage(saved):
    _, directory = saved
    with files_of_at_most(10_000):
        with pytest.raises(OSError, match="no room to unpack .*latest.keras"):
            checkpoint.restore(directory)


@pytest.mark.parametrize(
    ("recipe", "distance"),
    [
        ("omniglot_retrieval_histogram", "cosine"),
        ("omniglot_retrieval_triplet", "l2"),
    ],
)
def test_the_best_model_compares_as_its_loss(saved, recipe, distance):
    """The loss is not part of the file, but decides how points compare."""
    _, directory = saved
    workdir = directory / "run"
    (workdir / "checkpoints").mkdir(parents=True)
    (directory / "best.keras").rename(workdir / "checkpoints" / "best.keras")
    config = json.dumps(config_of(load_recipe(recipe)))
    (workdir / "config.json").write_text(
        json.dumps({"recipe": recipe, "config": json.loads(config)})
    )
    model = checkpoint.load_best(workdir)
    assert Method(model).distance == distance


@pytest.fixture
def ended(saved):
    """A run of two epochs; the first is the best."""
    model, directory = saved
    workdir = directory / "run"
    (workdir / "checkpoints").mkdir(parents=True)
    for epoch in (1, 2):
        state = state_of(epoch) | {"finished": "all epochs" * (epoch == 2)}
        checkpoint.save(model, state, workdir / "checkpoints")
    assert checkpoint.load_best(workdir)
    return workdir


def test_a_damaged_best_checkpoint_has_a_cure_that_works(ended):
    folder = ended / "checkpoints"
    best, previous = folder / "best.keras", folder / "previous.keras"
    whole = best.read_bytes()
    for damage in (lambda: best.write_bytes(whole[:999]), best.unlink):
        damage()
        with pytest.raises(ValueError, match="copy previous.keras, .* to best"):
            checkpoint.load_best(ended)
    previous.replace(best)
    assert checkpoint.load_best(ended)
    for damage in (lambda: best.write_bytes(whole[:999]), best.unlink):
        damage()
        with pytest.raises(ValueError, match="; train again in another --work"):
            checkpoint.load_best(ended)


def test_a_checkpoint_of_another_epoch_is_not_the_best(ended):
    folder = ended / "checkpoints"
    best, latest = folder / "best.keras", folder / "latest.keras"
    best.write_bytes(latest.read_bytes())
    expected = "contains epoch 2, but the best epoch is 1; copy previous.keras"
    with pytest.raises(ValueError, match=expected):
        checkpoint.load_best(ended)
    latest.unlink()
    with pytest.raises(
        ValueError, match="contains epoch 2, but .* is 1; train"
    ):
        checkpoint.load_best(ended)


def test_a_run_may_train_on_until_an_epoch_is_better(saved):
    model, directory = saved
    workdir = directory / "run"
    (workdir / "checkpoints").mkdir(parents=True)
    with pytest.raises(ValueError, match="has no checkpoint yet"):
        checkpoint.load_best(workdir)
    for epoch in (1, 2, 3):
        checkpoint.save(model, state_of(epoch), workdir / "checkpoints")
    (workdir / "checkpoints" / "best.keras").unlink()
    with pytest.raises(ValueError, match="missing; train on until an epoch"):
        checkpoint.load_best(workdir)


def test_the_best_checkpoint_replaces_a_damaged_newest_one(tmp_path):
    """An epoch that is repeated differs from the one in `best.keras`."""
    model = keras.Sequential(
        [keras.Input((1,)), keras.layers.Dense(1, use_bias=False)]
    )
    model.compile("sgd", "mse")

    def train(values, first, state=None):
        """Epoch N of the first training has the weight N."""
        callback = checkpoint.Checkpoint(
            tmp_path, "val_recall_at_1", 10, 5, state
        )
        callback.state |= DATA
        callback.set_model(model)
        callback.on_train_begin()
        for epoch, value in enumerate(values, first):
            weight = epoch + 1 if state is None else 10
            model.set_weights([np.full((1, 1), weight)])
            callback.on_epoch_end(epoch, {"val_recall_at_1": value})
        return callback.state

    train([0.5, 0.4, 0.9], 0)
    latest = tmp_path / "latest.keras"
    latest.write_bytes(latest.read_bytes()[:2000])
    model, state = checkpoint.restore(tmp_path)
    assert (state["epoch"], state["best_epoch"]) == (3, 3)
    np.testing.assert_array_equal(model.get_weights(), [[[3]]])
    # Damaged once more before a better epoch.
    train([0.3], 3, state)
    latest.write_bytes(b"damaged")
    model, state = checkpoint.restore(tmp_path)
    assert state["epoch"] == 3
    state = train([0.2, 0.1], 3, state)
    assert state["finished"]
    assert (state["best_epoch"], state["best_value"]) == (3, 0.9)
    best = keras.saving.load_model(tmp_path / "best.keras")
    np.testing.assert_array_equal(best.get_weights(), [[[3]]])
    # The checkpoint before it remains the last resort.
    for name in ("latest", "best"):
        (tmp_path / f"{name}.keras").write_bytes(b"damaged")
    assert checkpoint.restore(tmp_path)[1]["epoch"] == 4


# Bytes of a local header and of the central directory, and their changes.
FLIPPED = {
    "encrypted": (b"PK\x01\x02", 8, 0x01),
    "patched data": (b"PK\x01\x02", 8, 0x20),
    "unknown method": (b"PK\x01\x02", 10, 0x04),
    "offset before the file": (b"PK\x05\x06", 19, 0x80),
}


def flip(path, mark, place, bits):
    """Flips bits at a place after the first mark."""
    content = bytearray(path.read_bytes())
    content[content.index(mark) + place] ^= bits
    path.write_bytes(content)


@pytest.mark.parametrize("change", FLIPPED.values(), ids=FLIPPED)
def test_a_flipped_bit_of_a_header_is_damage(change, ended, capsys):
    folder = ended / "checkpoints"
    flip(folder / "best.keras", *change)
    with pytest.raises(ValueError, match="is damaged .*copy previous.keras"):
        best_file(ended)
    flip(folder / "latest.keras", *change)
    assert checkpoint.restore(folder)[1]["epoch"] == 1
    assert "latest.keras cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (errno.EACCES, "cannot read .*: Permission denied"),
        (errno.EDQUOT, "no room to unpack"),
    ],
)
def test_a_fault_of_the_machine_is_no_damage(code, message, ended, monkeypatch):
    def fail(*_, **__):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("zipfile.ZipFile.open", fail)
    before = names((None, ended / "checkpoints"))
    for read in (best_file, checkpoint.restore):
        path = ended if read is best_file else ended / "checkpoints"
        with pytest.raises(OSError, match=message):
            read(path)
    assert names((None, ended / "checkpoints")) == before


def test_the_best_checkpoint_alone_does_not_continue(ended):
    folder = ended / "checkpoints"
    for name in ("latest", "previous"):
        (folder / f"{name}.keras").unlink()
    whole = (folder / "best.keras").read_bytes()
    with pytest.raises(ValueError, match="best.keras but neither .* put one"):
        checkpoint.restore(folder)
    assert (folder / "best.keras").read_bytes() == whole
    assert checkpoint.load_best(ended)
