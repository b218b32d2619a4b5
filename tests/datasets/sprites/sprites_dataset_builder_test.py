import shutil

import numpy as np
import pytest
import tensorflow_datasets as tfds

from embeddings_tf.datasets import load
from embeddings_tf.datasets.sprites import FACTORS
from embeddings_tf.datasets.sprites import characters
from embeddings_tf.datasets.sprites import sprites_dataset_builder
from tests.datasets import sprites_files

# Copied by hand from sprites_files.SPLITS: counted from 0, ascending.
SPLITS = {"train": [0, 3, 5], "validation": [2], "test": [1, 4]}
WEAPON = (4, 5, 6, 7, 16, 17, 18, 19)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Folder of original files of six characters, and their images."""
    monkeypatch.setattr(
        sprites_dataset_builder,
        "_NUM_CHARACTERS",
        sprites_files.NUM_CHARACTERS,
    )
    monkeypatch.delenv("EMBEDDINGS_TF_DATA", raising=False)
    monkeypatch.delenv("EMBEDDINGS_TF_MANUAL", raising=False)
    folder = tmp_path / "manual"
    return folder, sprites_files.write_files(folder / "sprites")


def _load(name, split, tmp_path):
    return load(name, split, tmp_path / "data", tmp_path / "manual")


def _expected(images, of_split, animations):
    x, labels = [], []
    for character in of_split:
        for animation in animations:
            for frame in images[character][animation]:
                x.append(frame)
                labels.append(sprites_files.FACTORS[character])
    return np.array(x), np.array(labels)


@pytest.mark.parametrize(
    ("name", "animations"),
    [
        ("sprites", range(21)),
        ("sprites/all_frames", range(21)),
        ("sprites/weapon_visible", WEAPON),
    ],
)
def test_loads_frames_and_factors(files, tmp_path, name, animations):
    _, images = files
    splits = {**SPLITS, "all": [0, 3, 5, 2, 1, 4]}
    splits["train+test"] = SPLITS["train"] + SPLITS["test"]
    for split, of_split in splits.items():
        x, labels = _load(name, split, tmp_path)
        assert x.dtype == np.uint8 and labels.dtype == np.int32
        expected_x, expected_labels = _expected(images, of_split, animations)
        if split == "all":
            # The order of splits in TFDS does not matter.
            assert _sorted(x, labels) == _sorted(expected_x, expected_labels)
            continue
        np.testing.assert_array_equal(x, expected_x)
        np.testing.assert_array_equal(labels, expected_labels)


def _sorted(x, labels):
    return sorted(
        (image.tobytes(), tuple(factors.tolist()))
        for image, factors in zip(x, labels, strict=True)
    )


def test_names_of_the_factors():
    assert len(FACTORS) == len(characters.NUM_VALUES) == 7
    assert sum(characters.NUM_VALUES) == 21


def test_animation_and_frame_are_features(files, tmp_path):
    _load("sprites", "validation", tmp_path)
    builder = sprites_dataset_builder.Builder(data_dir=tmp_path / "data")
    dataset = builder.as_dataset(split="validation")
    found = [
        (int(e["character"]), int(e["animation"]), int(e["frame"]))
        for e in dataset.as_numpy_iterator()
    ]
    assert found == [
        (2, animation, frame)
        for animation, num_frames in enumerate(sprites_files.NUM_FRAMES)
        for frame in range(num_frames)
    ]


def test_files_where_the_archive_has_them(files, tmp_path):
    folder, images = files
    shutil.move(folder / "sprites", tmp_path / "moved")
    (folder / "sprites/data").mkdir(parents=True)
    shutil.move(tmp_path / "moved", folder / "sprites/data/sprites")
    x, _ = _load("sprites", "validation", tmp_path)
    np.testing.assert_array_equal(x, _expected(images, [2], range(21))[0])


@pytest.mark.parametrize(
    "missing", ["sprites_0.mat", "sprites_4.mat", "sprites_splits.mat"]
)
def test_missing_file(files, tmp_path, missing):
    folder, _ = files
    (folder / "sprites" / missing).unlink()
    with pytest.raises(FileNotFoundError) as error:
        _load("sprites", "train", tmp_path)
    message = str(error.value)
    for part in (
        missing,
        "nips2015-analogy-data.tar.gz",
        str(folder / "sprites"),
        "EMBEDDINGS_TF_MANUAL",
    ):
        assert part in message
    assert "EMBEDDINGS_TF_DATA" not in message and "\n" not in message


def test_no_folder_of_files(files, tmp_path):
    for manual_dir in (None, tmp_path / "nowhere"):
        with pytest.raises(FileNotFoundError) as error:
            load("sprites", "train", tmp_path / "data", manual_dir)
        for part in ("nips2015-analogy-data.tar.gz", "EMBEDDINGS_TF_MANUAL"):
            assert part in str(error.value)


def test_damaged_file_leaves_nothing(files, tmp_path):
    folder, _ = files
    path = folder / "sprites/sprites_4.mat"
    content = path.read_bytes()
    path.write_bytes(content[:-5000])
    with pytest.raises(ValueError, match="sprites_4.mat .*unpack it again"):
        _load("sprites", "train", tmp_path)
    assert not list((tmp_path / "data").glob("**/*.tfrecord*"))
    path.write_bytes(content)
    assert len(_load("sprites", "train", tmp_path)[0]) == 3 * 27


def test_configs_are_of_the_real_size():
    builder_cls = sprites_dataset_builder.Builder
    assert [c.name for c in builder_cls.BUILDER_CONFIGS] == [
        "all_frames",
        "weapon_visible",
    ]
    assert issubclass(builder_cls, tfds.core.GeneratorBasedBuilder)
    # 178 frames of 672 characters, 84 of which show the weapon.
    assert sprites_dataset_builder._NUM_CHARACTERS == 500 + 72 + 100
