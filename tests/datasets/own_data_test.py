"""Whether data of the user's own has splits or is divided."""

import numpy as np
import pytest

from embeddings_tf.datasets import load
from embeddings_tf.datasets.own_data import has_own_splits
from tests.datasets.image_folders import write_classes
from tests.datasets.speech_files import write_wav

ARRAYS = {"x": np.ones((2, 1)), "labels": np.arange(2)}
OWN = np.array(["train", "test"])
CODE = """
def everything(): return [[1.0], [2.0]], [0, 1]
def one(split): return [[1.0], [2.0]], [0, 1]
"""


@pytest.fixture
def data(tmp_path):
    (tmp_path / "own.csv").write_text("x,label,split\n1,a,train\n2,b,test\n")
    (tmp_path / "divided.csv").write_text("x,label\n1,a\n2,b\n")
    np.savez(tmp_path / "own.npz", **ARRAYS, split=OWN)
    np.savez(tmp_path / "divided.npz", **ARRAYS)
    write_classes(tmp_path / "own" / "train", ["ant"])
    write_classes(tmp_path / "own" / "test", ["bee"])
    write_classes(tmp_path / "divided", ["train", "ant"])
    (tmp_path / "mine.py").write_text(CODE)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("csv:{}/own.csv", True),
        ("csv:{}/divided.csv", False),
        ("arrays:{}/own.npz", True),
        ("arrays:{}/divided.npz", False),
        ("image_folder:{}/own", True),
        ("image_folder:{}/divided", False),
        ("{}/mine.py:everything", False),
        ("{}/mine.py:one", True),
    ],
)
def test_has_own_splits(data, name, expected):
    name = name.format(data)
    assert has_own_splits(name) == expected
    if expected:
        assert len(load(name, "train")[1])
    else:
        # Two classes are too few to divide.
        with pytest.raises(ValueError, match="has no splits of its own"):
            load(name, "train")


@pytest.mark.parametrize(
    "name",
    [
        "csv:~own.csv",
        "arrays:~own.npz",
        "image_folder:~own",
        "audio_folder:~voices",
        "~mine.py:one",
    ],
)
def test_names_that_begin_like_the_home_of_a_user(data, name, monkeypatch):
    """A user of this name does not exist, so it is the name of a file."""
    monkeypatch.chdir(data)
    for path in ("own.csv", "own.npz", "own", "mine.py"):
        (data / path).rename(f"~{path}")
    for part in ("train/ann", "test/bob"):
        write_wav(data / "~voices" / part / "1.wav", np.arange(999))
    assert has_own_splits(name)
    assert len(load(name, "train")[1])
    with pytest.raises(OSError, match="There is no folder ~none"):
        load("image_folder:~none", "train")
