"""Omniglot in four rotations, from a stand-in for the prepared Omniglot."""

import types

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from embeddings_tf.datasets import load
from embeddings_tf.datasets.omniglot_rotations import (
    omniglot_rotations_dataset_builder,
)
from embeddings_tf.datasets.omniglot_rotations import rotated_characters

SPLITS = {"train": 1028, "validation": 172, "test": 423}
NAMES = sorted(rotated_characters.split_of_characters())[::-1]
PER_CHARACTER = 2


def scan(character, drawing):
    """A dark bar on white paper; the place tells character and drawing."""
    image = np.full((105, 105, 3), 255, np.uint8)
    row = NAMES.index(character) % 90
    image[row : row + 15, 10 : 50 + 20 * drawing] = 0
    return image


class Omniglot:
    """Replaces TFDS's builder: names in its order, and scans."""

    def __init__(self, characters, names=NAMES):
        self.characters = characters
        label = types.SimpleNamespace(names=list(names))
        self.info = types.SimpleNamespace(
            features={"label": label}, full_name="omniglot/3.0.0"
        )

    def as_dataset(self, split, **_):
        half = {"train": slice(0, None, 2), "test": slice(1, None, 2)}[split]
        drawn = [
            (scan(character, drawing), NAMES.index(character))
            for drawing in range(PER_CHARACTER)
            for character in self.characters[half]
        ]
        images, labels = zip(*drawn, strict=True)
        return tf.data.Dataset.from_tensor_slices(
            {"image": np.array(images), "label": np.array(labels)}
        )


@pytest.fixture
def some(tmp_path, monkeypatch):
    """Data directory of four characters of each split."""
    of_split = {split: [] for split in SPLITS}
    for character, split in rotated_characters.split_of_characters().items():
        of_split[split].append(character)
    chosen = {s: names[:: len(names) // 3] for s, names in of_split.items()}
    source = Omniglot([name for names in chosen.values() for name in names])
    monkeypatch.setattr(tfds, "builder", lambda *_, **__: source)
    monkeypatch.setattr(
        omniglot_rotations_dataset_builder.Builder, "SOURCE", "n_digit"
    )
    (tmp_path / "n_digit/2_number/1.0.0").mkdir(parents=True)
    tfds.disable_progress_bar()
    return tmp_path, chosen


def test_lists():
    found = rotated_characters.split_of_characters()
    counts = {split: list(found.values()).count(split) for split in SPLITS}
    assert counts == SPLITS
    # Lines of the published files train.txt, val.txt and test.txt.
    assert found["Angelic_0"] == "train"
    names = rotated_characters.class_names()
    assert len(names) == len(set(names)) == 6492
    assert names[:5] == [
        "Alphabet_of_the_Magi/character01/rot000",
        "Alphabet_of_the_Magi/character01/rot090",
        "Alphabet_of_the_Magi/character01/rot180",
        "Alphabet_of_the_Magi/character01/rot270",
        "Alphabet_of_the_Magi/character02/rot000",
    ]
    assert rotated_characters.class_name("Angelic_18", 3) == (
        "Angelic/character19/rot270"
    )


def test_ink_is_inverted_turned_and_resized():
    white = np.full((1, 112, 112, 1), 255, np.uint8)
    white[0, :28, :56] = 0  # ink in the first eighth
    for turns in range(4):
        image = rotated_characters.light_on_dark(white, turns)[0, ..., 0]
        assert image.shape == (28, 28) and image.dtype == np.uint8
        # A quarter of the size; counterclockwise, away from the edges.
        expected = np.zeros((28, 28))
        expected[:7, :14] = 255
        expected = np.rot90(expected, turns)
        inside = np.abs(image - expected) < 1
        assert inside.mean() > 0.9
        assert image.sum() == pytest.approx(expected.sum(), rel=0.05)


def test_splits(some):
    data_dir, chosen = some
    names = rotated_characters.class_names()
    for split, characters in chosen.items():
        x, labels = load("omniglot_rotations", split, data_dir)
        assert x.dtype == np.uint8 and labels.dtype == np.int32
        num_images = len(characters) * 4 * PER_CHARACTER
        assert x.shape == (num_images, 28, 28, 1)
        # Class by class, and every class has its drawings in one rotation.
        assert (np.diff(labels) >= 0).all()
        expected = {}
        for character in characters:
            for turns in range(4):
                scans = [scan(character, n) for n in range(PER_CHARACTER)]
                name = rotated_characters.class_name(character, turns)
                expected[name] = rotated_characters.light_on_dark(
                    np.array(scans)[..., :1], turns
                )
        assert {names[label] for label in labels} == set(expected)
        for name, images in expected.items():
            np.testing.assert_array_equal(
                x[labels == names.index(name)], images
            )
        _, alphabets = load(
            "omniglot_rotations", split, data_dir, label="alphabet"
        )
        every = sorted({name.split("/")[0] for name in names})
        assert [every[a] for a in alphabets] == [
            names[label].split("/")[0] for label in labels
        ]


def test_another_set_of_characters_is_refused():
    source = Omniglot([], names=[*NAMES[1:], "Klingon_0"])
    with pytest.raises(ValueError, match="2 names are in one of them only"):
        omniglot_rotations_dataset_builder._scans(source, "train")
