import h5py
import numpy as np
import pytest
import scipy.io

from embeddings_tf.datasets.sprites import characters
from tests.datasets import sprites_files


@pytest.fixture
def file(tmp_path):
    images = sprites_files.write_files(tmp_path / "sprites")
    return tmp_path / "sprites/sprites_2.mat", images[2]


def test_reads_what_was_written(file):
    path, images = file
    factors, frames = characters.read_character(path, (4, 0, 20))
    assert factors.dtype == np.int32 and frames[0].dtype == np.uint8
    np.testing.assert_array_equal(factors, sprites_files.FACTORS[2])
    for animation, found in zip((4, 0, 20), frames, strict=True):
        np.testing.assert_array_equal(found, images[animation])


def test_axes_of_a_frame(tmp_path):
    # One red pixel in row 7, column 30: the vector has channels, columns, rows.
    image = np.zeros((60, 60, 3), np.uint8)
    image[7, 30, 0] = 255
    sprites_files.write_mat_73(
        tmp_path / "sprites_0.mat", np.zeros(7), [image[np.newaxis]] * 21
    )
    with h5py.File(tmp_path / "sprites_0.mat") as file:
        (vector,) = file[file["sprites"][0, 0]]
    assert np.flatnonzero(vector).tolist() == [0 * 3600 + 30 * 60 + 7]
    _, (frames,) = characters.read_character(tmp_path / "sprites_0.mat", (0,))
    np.testing.assert_array_equal(frames[0], image)


@pytest.mark.parametrize(
    ("factors", "num_animations", "change", "message"),
    [
        (np.zeros(7), 20, lambda values: values, "20 animations"),
        (np.zeros(6), 21, lambda values: values, "labels"),
        (np.full(7, 0.5), 21, lambda values: values, "labels"),
        (np.full(7, 2), 21, lambda values: values, "labels"),
        (np.full(7, -1), 21, lambda values: values, "labels"),
        (np.full(7, np.nan), 21, lambda values: values, "labels"),
        (np.zeros(7), 21, lambda values: values + 1.01, "outside of 0..1"),
        (np.zeros(7), 21, lambda values: values * np.nan, "outside of 0..1"),
        (np.zeros(7), 21, lambda values: values[:, :-1], "frames of shape"),
    ],
)
def test_other_content(tmp_path, factors, num_animations, change, message):
    path = tmp_path / "sprites_0.mat"
    images = [np.zeros((2, 60, 60, 3))] * num_animations
    sprites_files.write_mat_73(path, factors, images)
    with h5py.File(path, "r+") as file:
        values = change(file["#refs#/sprites3"][()])
        del file["#refs#/sprites3"]
        array = file.create_dataset("#refs#/sprites3", data=values)
        file["sprites"][3, 0] = array.ref
    with pytest.raises(ValueError, match=message) as error:
        characters.read_character(path, (3,))
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    "content",
    [
        lambda path: path.read_bytes()[:-2000],
        lambda path: path.read_bytes()[:600],
        lambda path: b"",
        lambda path: b"something else" * 100,
    ],
)
def test_damaged_file(file, content):
    path, _ = file
    path.write_bytes(content(path))
    with pytest.raises(ValueError, match="unpack it again") as error:
        characters.read_character(path, tuple(range(21)))
    assert str(path) in str(error.value)


def test_file_without_labels(file):
    path, _ = file
    with h5py.File(path, "r+") as content:
        del content["labels"]
    with pytest.raises(ValueError, match="unpack it again"):
        characters.read_character(path, (0,))


def test_splits_count_from_0_and_ascend(file):
    path = file[0].with_name("sprites_splits.mat")
    splits = characters.read_splits(path, 6)
    assert {k: v.tolist() for k, v in splits.items()} == {
        "train": [0, 3, 5],
        "validation": [2],
        "test": [1, 4],
    }


@pytest.mark.parametrize(
    "changed",
    [
        {"testidx": [5]},
        {"testidx": [5, 2, 3]},
        {"testidx": [5, 7]},
        {"testidx": [0, 2]},
        {"trainidx": [], "validx": [], "testidx": []},
    ],
)
def test_splits_have_every_character_once(tmp_path, changed):
    path = tmp_path / "sprites_splits.mat"
    splits = {**sprites_files.SPLITS, **changed}
    scipy.io.savemat(path, {k: np.array([v]) for k, v in splits.items()})
    with pytest.raises(ValueError, match="characters 1 to 6 in one split"):
        characters.read_splits(path, 6)


@pytest.mark.parametrize(
    "content",
    [
        lambda path: path.read_bytes()[:-20],
        lambda path: b"",
        lambda path: b"something else" * 100,
    ],
)
def test_damaged_splits(file, content):
    path = file[0].with_name("sprites_splits.mat")
    path.write_bytes(content(path))
    with pytest.raises(ValueError, match="sprites_splits.mat") as error:
        characters.read_splits(path, 6)
    assert "unpack it again" in str(error.value)


def test_splits_without_a_part(tmp_path):
    path = tmp_path / "sprites_splits.mat"
    scipy.io.savemat(path, {"trainidx": [[1, 2]], "validx": [[3]]})
    with pytest.raises(ValueError, match="KeyError: 'testidx'"):
        characters.read_splits(path, 6)


def test_too_little_memory_is_no_damage(tmp_path, monkeypatch):
    def load(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(scipy.io, "loadmat", load)
    with pytest.raises(MemoryError):  # not "unpack it again"
        characters.read_splits(tmp_path / "sprites_splits.mat", 6)
