import io
import os
import zipfile

import numpy as np
import pytest

from embeddings_tf.datasets import load
from embeddings_tf.datasets.read_arrays import array_names

X = np.arange(12.0).reshape(6, 2)
LABELS = np.array([7, 7, -2, -2, 7, -2])


@pytest.fixture
def file(tmp_path):
    return tmp_path / "mine.npz"


def read(file, of="all", label=None, **arrays):
    if arrays:
        np.savez(file, **arrays)
    return load(f"arrays:{file}", of, label=label)


def test_integer_labels_stay(file):
    x, labels = read(file, x=X, labels=LABELS)
    np.testing.assert_array_equal(x, X)
    assert x.dtype == np.float32 and labels.dtype == np.int32
    np.testing.assert_array_equal(labels, LABELS)
    names = read(file, label="class")[1].tolist()
    assert names == ["7", "7", "-2", "-2", "7", "-2"]
    assert read(file, label="name")[1].tolist() == list("012345")


@pytest.mark.parametrize("dtype", [">f8", "<f8", np.longdouble])
def test_wide_floats_become_float32(file, dtype):
    x, _ = read(file, x=X.astype(dtype), labels=LABELS)
    assert x.dtype == np.float32
    np.testing.assert_array_equal(x, X)


def test_factors_that_would_be_one_class_are_refused(file):
    factors = np.array([["a,b", "c"], ["a", "b,c"]] * 3)
    message = r"\('a,b', 'c'\) and \('a', 'b,c'\) .* the class 'a,b,c'"
    with pytest.raises(ValueError, match=message):
        read(file, x=X, labels=factors)
    factors[:, 1] = "c"
    read(file, x=X, labels=factors)
    names = read(file, label="class")[1].tolist()
    assert names == ["a,b,c", "a,c"] * 3


def test_text_factors_and_images(file):
    images = np.arange(6, dtype=np.uint8).reshape(6, 1, 1, 1)
    x, labels = read(file, x=images, labels=np.array(list("bbaabc")))
    np.testing.assert_array_equal(x, images)
    assert x.dtype == np.uint8 and labels.tolist() == [1, 1, 0, 0, 1, 2]
    factors = np.stack([LABELS, LABELS * 0], axis=1)
    _, labels = read(file, x=X, labels=factors)
    np.testing.assert_array_equal(labels, factors)
    assert read(file, label="class")[1].tolist()[:3] == ["7,0", "7,0", "-2,0"]
    text = np.array([["a", "x"]] * 5 + [["b", "x"]])
    assert read(file, x=X, labels=text)[1].tolist() == [[0, 0]] * 5 + [[1, 0]]


def test_names_and_splits(file):
    numbers = np.array([0, 1, 2, 0, 1, 2])
    more = {"class_names": np.array(["owl", "cat", "dog"])}
    more["split"] = np.array(["train"] * 4 + ["test"] * 2)
    x, labels = read(file, "test", x=X, labels=numbers, **more)
    np.testing.assert_array_equal(x, X[4:])
    assert labels.tolist() == [1, 2]
    assert read(file, "test", "class")[1].tolist() == ["cat", "dog"]
    with pytest.raises(ValueError, match="'validation'.* train, test, all"):
        read(file, "validation")


@pytest.mark.parametrize(
    ("own", "wanted"),
    [
        ("Train", "train"),
        ("TEST", "test"),
        ("Validation", "validation"),
        ("val", "validation"),
        ("Dev", "validation"),
    ],
)
def test_other_names_of_splits(file, own, wanted):
    split = np.array([own] * 4 + ["other"] * 2)
    remedy = f"expected one of {own}, other, all. Call the split '{own}' "
    with pytest.raises(ValueError, match=f"{remedy}{wanted}"):
        read(file, wanted, x=X, labels=LABELS, split=split)


def test_divided_by_class(file):
    labels = np.repeat(np.arange(10), 3)
    x = np.zeros((30, 2))
    parts = []
    for split in ("train", "validation", "test"):
        parts.append(read(file, split, x=x, labels=labels)[1])
    assert [len(part) for part in parts] == [18, 6, 6]
    assert set(np.concatenate(parts)) == set(range(10))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": X}, "has the arrays x; expected x and labels"),
        ({"x": X, "labels": LABELS, "y": X}, "has the arrays x, labels, y"),
        ({"x": X[:5], "labels": LABELS}, "6 labels of 5 examples"),
        ({"x": X[:0], "labels": LABELS[:0]}, "at least one; received 0"),
        ({"x": X[0, 0], "labels": LABELS}, r"x must be numbers .* shape \(\)"),
        ({"x": X, "labels": X[:, 0]}, "labels must be integers or text"),
        ({"x": X, "labels": LABELS + 2**40}, "must fit in 32 bits"),
        ({"x": np.where(X == 5, np.nan, X), "labels": LABELS}, "example 2 con"),
        (
            {"x": X * 1e200, "labels": LABELS},
            "example 0 contains numbers that float32 cannot hold, beyond 3.4e38"
            "; scale the data",
        ),
        (
            {"x": np.where(X == 5, np.inf, X * 1e30), "labels": LABELS},
            "example 2 contains NaN or infinity; remove or repair it",
        ),
        (
            {"x": X, "labels": LABELS.astype(float)},
            r"received dtype float64 .*whole numbers: labels\.astype\(int\)",
        ),
        (
            {"x": X, "labels": LABELS == 7},
            r"received dtype bool .*Give integers: labels\.astype\(int\)",
        ),
        (
            {"x": X, "labels": LABELS.astype(bytes)},
            r"received dtype \|S21 .*Give text: np\.char\.decode\(labels\)",
        ),
        ({"x": X.astype(str), "labels": LABELS}, "x must be numbers"),
        ({"x": X.astype(object), "labels": LABELS}, "pickled objects"),
        (
            {"x": X, "labels": LABELS.astype(str).astype(object)},
            r"text as labels\.astype\(str\)",
        ),
        (
            {"x": X, "labels": LABELS, "class_names": np.array(["a", "b"])},
            "2 names, but labels are from -2 to 7",
        ),
        (
            {"x": X, "labels": LABELS * 0, "class_names": np.array(["a", "b"])},
            "the class 'b' has no examples, label 1",
        ),
        (
            {"x": X, "labels": LABELS, "class_names": np.array(["a", "a"])},
            "class_names has a name twice",
        ),
        (
            {"x": X, "labels": LABELS, "class_names": np.arange(2)},
            "class_names must be text",
        ),
        (
            # In order of appearance; the labels are numbered by the alphabet.
            {
                "x": X,
                "labels": np.array(["dog", "cat"] * 3),
                "class_names": np.array(["dog", "cat"]),
            },
            "labels are text; leave class_names out",
        ),
        (
            {"x": X, "labels": np.array(["a", "", "b", "b", "a", "a"])},
            "the label of example 1 is empty",
        ),
        (
            {"x": X, "labels": np.array([["a", "b"]] * 5 + [["a", "b "]])},
            "the label of example 5 is 'b '; remove the blanks",
        ),
        (
            {
                "x": X,
                "labels": LABELS,
                "split": np.array(["train", "Train"] * 3),
            },
            "has the splits 'Train' and 'train'",
        ),
        (
            {"x": X, "labels": LABELS, "split": np.array(["test "] * 6)},
            "the split of example 0 is 'test '",
        ),
        (
            {"x": X, "labels": LABELS, "split": np.array(["train"])},
            r"split must be text of shape \(6,\)",
        ),
    ],
)
def test_refused(file, arrays, message):
    with pytest.raises(ValueError, match=message) as raised:
        read(file, **arrays)
    assert "\n" not in str(raised.value)
    assert "mine.npz" in str(raised.value)


def test_names_that_look_equal_are_equal(file):
    """The letter é, and the letter e with an accent."""
    labels = np.array(["\u00e9", "e\u0301"] * 3)
    assert read(file, "all", x=X, labels=labels)[1].tolist() == [0] * 6


def test_damaged_files(file):
    with pytest.raises(FileNotFoundError, match="There is no file .*mine.npz"):
        read(file)
    np.savez_compressed(file, x=X, labels=LABELS)
    whole = file.read_bytes()
    one = io.BytesIO()
    np.save(one, X)
    method = whole.index(b"PK\x01\x02") + 10
    unknown = whole[:method] + b"\x63" + whole[method + 1 :]
    for content in (b"", b"text", whole[:100], one.getvalue(), unknown):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="mine.npz is not a complete file"):
            read(file)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x.npy", one.getvalue()[:-8])
    with pytest.raises(ValueError, match="mine.npz is not a complete file"):
        read(file)


def test_a_pipe(file):
    os.mkfifo(file)
    for use in (read, array_names):
        with pytest.raises(OSError, match="a pipe or a device"):
            use(file)
