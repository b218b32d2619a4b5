"""Heads on a frozen network whose features are computed once."""

import hashlib
import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from tests.datasets.image_folders import write_classes
from tests.datasets.image_folders import write_image
from tests.models.networks import write_networks
from tests.trainers.commands import call
from tests.trainers.commands import refused
from trainers import embed_data
from trainers import enroll
from trainers import evaluate
from trainers import export
from trainers import identify
from trainers import nearest
from trainers import train
from trainers import verify
from trainers.config import load_recipe
from trainers.config.run import Backbone
from trainers.data import backbone_features
from trainers.data.data import Data
from trainers.data.recordings import serving_decoder
from trainers.terminal import progress

RECIPE = "omniglot_retrieval_triplet"


@pytest.fixture
def folder(tmp_path):
    """Six classes of four images of one colour."""
    write_classes(tmp_path / "photos", list("abcdef"), 4, (9, 9, 3))
    return tmp_path / "photos"


@pytest.fixture
def words(folder, tmp_path):
    networks = write_networks(tmp_path)
    return [
        f"dataset=image_folder:{folder}",
        f"cache_dir={tmp_path / 'cache'}",
        "folds.num_folds=0",
        f"backbone.network={networks}:network",
        "backbone.weights=None",
        "backbone.image_shape=(9, 9, 3)",
        "encoder.name=features_encoder",
        "encoder.num_features=6",
        "encoder.dim=3",
        "batches.num_classes=2",
        "batches.num_per_class=3",
        "steps_per_epoch=3",
        "num_epochs=1",
        "deterministic=False",
    ]


@pytest.fixture
def computed(monkeypatch):
    """The number of images of each call that computes features."""
    compute, seen = backbone_features._compute, []

    def counted(model, x, keys, missing, store):
        seen.append(len(missing))
        compute(model, x, keys, missing, store)

    monkeypatch.setattr(backbone_features, "_compute", counted)
    return seen


def features(words, split="all", *more):
    return Data(load_recipe(RECIPE, [*words, *more])).split(split)[0]


@pytest.mark.parametrize("pieces", [None, (1, 5)])
def test_features_are_those_of_the_network(words, pieces, monkeypatch):
    """Also of many blocks in several files."""
    if pieces is not None:
        block, per_file = pieces
        monkeypatch.setattr(backbone_features, "_BLOCK", block)
        monkeypatch.setattr(backbone_features, "_NUM_PER_FILE", per_file)
    data = Data(load_recipe(RECIPE, words))
    x, labels = data.split("all")
    network = backbone_features.network(data.run.data.backbone)
    images, expected = data.unprocessed("all")
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_allclose(x, network(images[:]).numpy(), atol=1e-5)


def test_weights_of_a_file(words, tmp_path):
    run = load_recipe(RECIPE, [*words, "backbone.seed=5"])
    network = backbone_features.network(run.data.backbone)
    path = tmp_path / "mine.weights.h5"
    network.get_layer("network").layer.save_weights(path)
    expected = features(words, "all", "backbone.seed=5")
    found = features(words, "all", f"backbone.weights={path}")
    np.testing.assert_array_equal(found, expected)


def test_computed_once_by_content(words, folder, computed):
    x = features(words)
    assert computed == [24]
    # Other splits, other names and another process's data.
    features(words, "train")
    (folder / "a" / "0.png").rename(folder / "a" / "renamed.png")
    assert features(words).shape == (24, 6) and computed == [24]
    # Another image, a copy, another network.
    write_image(folder / "a" / "1.png", np.full((9, 9, 3), 7))
    shutil.copy(folder / "b" / "0.png", folder / "c" / "copy.png")
    found = features(words)
    assert computed == [24, 1] and found.shape == (25, 6)
    rows = {bytes(row) for row in x} & {bytes(row) for row in found}
    assert len(rows) == 23
    assert not np.allclose(features(words, "all", "backbone.seed=1"), found)
    assert computed == [24, 1, 24]


TWO_LAYERS = """
import os

import keras


def network():
    first, second = os.environ["ACTIVATIONS"].split()
    return keras.Sequential(
        [
            keras.layers.Conv2D(3, 1, activation=first),
            keras.layers.Lambda(lambda x: x),
            keras.layers.Conv2D(3, 1, activation=second),
        ]
    )
"""


def test_digest_covers_the_layers_and_the_file(tmp_path, monkeypatch):
    file = tmp_path / "two.py"
    fields = Backbone(f"{file}:network", None, (9, 9, 3))

    def found(activations, code=TWO_LAYERS):
        """The digest as in a new process; the weights are always equal."""
        monkeypatch.setenv("ACTIVATIONS", activations)
        file.write_text(code)
        backbone_features.network.cache_clear()
        backbone_features.digest.cache_clear()
        return backbone_features.digest(fields)

    first = found("relu tanh")
    # Automatic names of layers count up, and are no difference.
    assert found("relu tanh") == first
    digests = [
        found("tanh relu"),
        found("relu linear"),
        found("relu tanh", TWO_LAYERS.replace("lambda x: x", "lambda x: -x")),
    ]
    assert len({first, *digests}) == 4
    backbone_features.network.cache_clear()
    backbone_features.digest.cache_clear()


def test_images_of_several_sizes(words, folder):
    write_image(folder / "a" / "1.png", np.full((30, 20, 3), 7))
    assert features(words).shape == (24, 6)
    wide = ["backbone.image_shape=(9, 12, 3)"]
    with pytest.raises(ValueError, match=r"have shape \(9, 9, 3\), the backb"):
        features(words, "all", *wide)
    with pytest.raises(ValueError, match="images.size=5, but the backbone tak"):
        features(words, "all", "images.size=5")


@pytest.mark.slow
def test_trained_evaluated_and_exported(words, folder, tmp_path, capsys):
    run, model = tmp_path / "run", tmp_path / "model"
    command = ["--config", RECIPE, "--workdir", run]
    command += [f"--config.{word}" for word in words]
    assert call(train, *command) == 0, capsys.readouterr().err
    assert "features of 8 of 8 images" in capsys.readouterr().out
    assert call(train, *command) == 0  # is trained already
    assert call(evaluate, "--workdir", run) == 0
    found = json.loads((run / "results.json").read_text())["evaluation"]
    assert found["test"]["examples"] == 8
    words = ["--workdir", run, "--directory", model]
    assert call(export, *words) == 0
    # The exported model takes images.
    images = np.stack([np.full((9, 9, 3), n, "uint8") for n in (3, 200)])
    served = tf.saved_model.load(str(model / "1")).signatures
    embedding = served["serving_default"](image=tf.cast(images, tf.float32))
    assert embedding["embedding"].shape == (2, 3)
    names = json.loads((model / "1" / "assets.extra/classes.json").read_text())
    assert sum(map(len, names["splits"].values())) == 6
    # Other weights than in training.
    gallery = tmp_path / "gallery.npz"
    words = ["--workdir", run, "--gallery", gallery, "--no-threshold"]
    assert call(enroll, *words, folder) == 0
    (run / "backbone.json").write_text('{"digest": "0"}')
    image, output = folder / "a" / "0.png", tmp_path / "new.npz"
    for module, more in (
        (evaluate, []),
        (export, ["--directory", model]),
        (embed_data, [image, "--output", output]),
        (enroll, [folder, "--gallery", output]),
        (identify, [image, "--gallery", gallery]),
        (nearest, [image, "--gallery", gallery]),
        (verify, [image, image]),
    ):
        error = refused(capsys, module, "--workdir", run, *more)
        assert "are not those with which" in error
    assert not output.exists() and not (run / "verifier.json").exists()


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("backbone.network=ResNet51", "`network` must be FILE.py:FUNCTION or"),
        ("backbone.weights=none.h5", "none.h5"),
        ("backbone.image_shape=(9,9)", "backbone.image_shape must be a tuple"),
        ("encoder.num_features=5", "have 6 features, the encoder takes 5; set"),
        ("cache_dir={}/photos/a/0.png", "cannot write features to"),
    ],
)
def test_refused(words, folder, tmp_path, capsys, word, message):
    run = tmp_path / "run"
    command = [f"--config.{w}" for w in (*words, word.format(tmp_path))]
    start = ["--config", RECIPE, "--workdir", run]
    assert message in refused(capsys, train, *start, *command)
    assert not run.exists()


def test_features_that_are_not_finite(words, tmp_path, capsys):
    path = tmp_path / "networks.py"
    path.write_text(path.read_text().replace("1 / 255", "1e38"))
    start = ["--config", RECIPE, "--workdir", tmp_path / "run"]
    command = [f"--config.{word}" for word in words]
    error = refused(capsys, train, *start, *command)
    assert "features are not finite for" in error and ".png" in error
    assert not list((tmp_path / "cache").rglob("*.npy"))


def test_hashing_shows_its_progress(monkeypatch, capsys):
    """Threads hash; the images are counted, and hashed, in their order."""
    monkeypatch.setattr(progress, "SECONDS_PER_LINE", -1)  # a line for each
    images = np.arange(30 * 4, dtype=np.uint8).reshape(30, 2, 2, 1)
    keys = backbone_features._keys(images)
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(",")[0] for line in lines] == [
        f"{number} of 30 hashed images" for number in range(1, 31)
    ]
    for key, image in zip(keys, images, strict=True):
        content = b"(2, 2, 1) uint8" + image.tobytes()
        expected = hashlib.blake2b(content, digest_size=16).digest()
        assert key.tobytes() == expected


@pytest.mark.slow
@pytest.mark.parametrize("crop", [True, False])
def test_files_are_decoded_as_in_the_training(words, crop, tmp_path):
    """Images of other sizes: the middle square, or the whole image."""
    run = load_recipe(RECIPE, [*words, f"images.crop={crop}"])
    image = np.zeros((12, 20, 3), np.uint8)
    image[:, :4] = 255  # outside of the middle square
    write_image(tmp_path / "wide.png", image)
    network = backbone_features.network(run.data.backbone)
    decoder = serving_decoder(run.data, network, network)
    content = tf.constant([(tmp_path / "wide.png").read_bytes()])
    (tmp_path / "wide.png").rename(tmp_path / "photos" / "a" / "wide.png")
    x, _ = Data(run).unprocessed("all")
    row = [str(name) for name in x.names].index("a/wide.png")
    x, _ = backbone_features._of_shape(x, run.data)
    (found,) = decoder("image", content)
    np.testing.assert_allclose(found[0], x[[row]][0], atol=2)
    assert (np.max(found) > 200) != crop
