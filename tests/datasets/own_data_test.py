"""Whether data of the user's own has splits or is divided."""

import numpy as np
import pytest

from embeddings_tf.datasets import load
from embeddings_tf.datasets.own_data import has_own_splits
from tests.datasets.image_folders import write_classes

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
