import numpy as np
import pytest

from embeddings_tf.datasets import load
from embeddings_tf.ops.own_code import own_object

CODE = """
import numpy as np
import pandas


def everything():
    labels = np.repeat([f"class {n}" for n in range(10)], 2)
    return np.arange(40.0).reshape(20, 2), labels


def one_split(split):
    number = {"train": 0, "test": 1}[split]
    return np.full((3, 2), number), [number, number, 9]


def with_names(split, label=None):
    return np.zeros((2, 2)), [1, 2] if label is None else [label, split]


calls = []


def shuffled(shuffle=True, *more, **others):
    calls.append(None)
    order = np.random.default_rng().permutation(1000)
    return order[:, None], [f"class {n % 10}" for n in order]


def shuffled_split(size=50, split="none"):
    order = np.random.default_rng().permutation(size)
    return order[:, None], [f"{split} {n % 5}" for n in order]


def ragged():
    return [[1], [1, 2]], [0, 1]


def nothing():
    pass


def of_pandas():
    table = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    return table, pandas.Series(["wren", "owl"], index=[7, 3])


def dates_of_pandas():
    table = pandas.DataFrame({"a": [1.0, 2.0], "b": ["May", "June"]})
    return table, ["wren", "owl"]


def missing_in_a_list():
    return np.zeros((2, 1)), ["owl", float("nan")]


def missing_in_pandas():
    return np.zeros((2, 1)), pandas.Series(["owl", None])
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(CODE)
    return path


def test_all_examples_are_divided(file):
    x, labels = load(f"{file}:everything", "all")
    assert x.dtype == np.float32 and labels.tolist() == [
        n for n in range(10) for _ in range(2)
    ]
    parts = [
        load(f"{file}:everything", split, label="class")[1]
        for split in ("train", "validation", "test")
    ]
    assert [len(part) for part in parts] == [12, 4, 4]
    assert set(np.concatenate(parts)) == {f"class {n}" for n in range(10)}


def test_text_of_pandas(file):
    x, labels = load(f"{file}:of_pandas", "all")
    assert x.tolist() == [[1, 3], [2, 4]] and labels.tolist() == [1, 0]
    _, names = load(f"{file}:of_pandas", "all", label="class")
    assert names.tolist() == ["wren", "owl"]


@pytest.mark.parametrize("name", ["missing_in_a_list", "missing_in_pandas"])
def test_missing_labels(file, name):
    with pytest.raises(ValueError, match=f"{name} must .* received nan in pla"):
        load(f"{file}:{name}", "all")


def test_one_split(file):
    x, labels = load(f"{file}:one_split", "test")
    assert x.tolist() == [[1, 1]] * 3 and labels.tolist() == [1, 1, 9]
    names = load(f"{file}:one_split", "test", label="class")[1]
    assert names.tolist() == ["1", "1", "9"]
    with pytest.raises(ValueError, match="has no label 'colour'"):
        load(f"{file}:one_split", "test", label="colour")
    with pytest.raises(ValueError, match="one split, so divide='examples' can"):
        load(f"{file}:one_split", "test", divide="examples")
    _, names = load(f"{file}:with_names", "test", label="class")
    assert names.tolist() == ["class", "test"]


@pytest.mark.parametrize(
    "error", [RuntimeError, AttributeError, AssertionError, ZeroDivisionError]
)
@pytest.mark.parametrize("parameter", ["", "split"])
def test_an_error_of_the_function_is_the_cause(tmp_path, error, parameter):
    # A name of its own, because files are run once in a process.
    file = tmp_path / f"{error.__name__}{parameter}.py"
    file.write_text(f"def f({parameter}):\n    raise {error.__name__}('no')\n")
    with pytest.raises(ValueError, match=f"f must .*{error.__name__}: no") as e:
        load(f"{file}:f", "train")
    assert type(e.value.__cause__) is error
    file = tmp_path / f"Other{error.__name__}{parameter}.py"
    file.write_text("def f():\n    open('/no/such/file')\n")
    with pytest.raises(FileNotFoundError, match="/no/such/file"):
        load(f"{file}:f", "train")


def test_optional_arguments_are_no_splits_and_one_call_serves_all(file):
    name = f"{file}:shuffled"
    parts = [
        load(name, split, divide="examples")[0][:, 0]
        for split in ("train", "validation", "test")
    ]
    assert sorted(np.concatenate(parts)) == list(range(1000))
    x, numbers = load(name, "all")
    names = load(name, "all", label="class")[1]
    assert names.tolist() == [f"class {n % 10}" for n in x[:, 0]]
    assert numbers.tolist() == (x[:, 0] % 10).tolist()
    assert len(own_object(f"{file}:shuffled").__globals__["calls"]) == 1
    with pytest.raises(ValueError, match="read-only"):
        x += 1


def test_one_call_serves_the_labels_of_a_split(file):
    name = f"{file}:shuffled_split"
    x, _ = load(name, "test")
    names = load(name, "test", label="class")[1]
    assert names.tolist() == [f"test {n % 5}" for n in x[:, 0]]


def test_of_a_module(file, monkeypatch):
    monkeypatch.syspath_prepend(file.parent)
    file.rename(file.with_name("my_data_module.py"))
    x, _ = load("my_data_module:everything", "all")
    assert x.shape == (20, 2)
    with pytest.raises(ValueError, match="not installed; .* csv:PATH"):
        load("no_such_module:everything", "all")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ragged", "must return examples and labels.*ValueError"),
        (
            "dates_of_pandas",
            "dtype object and .*astype.'float32'., without col",
        ),
        ("nothing", "must return examples and labels.*TypeError"),
        ("no_such", "no class or function 'no_such'; it has everything"),
    ],
)
def test_refused(file, name, message):
    with pytest.raises(ValueError, match=message) as raised:
        load(f"{file}:{name}", "all")
    assert "\n" not in str(raised.value)
    assert "mine.py" in str(raised.value)


def test_a_mistyped_kind_is_named():
    with pytest.raises(ValueError, match="arrays:PATH, FILE.py:FUNCTION"):
        load("imagefolder:photos", "train")


@pytest.mark.parametrize("split", ["all", "train"])
def test_a_tensorflow_dataset_is_refused(tmp_path, split):
    file = tmp_path / "mine.py"
    parameter = "" if split == "all" else "split"
    file.write_text(
        "import tensorflow as tf\n"
        f"def f({parameter}):\n"
        "    return tf.data.Dataset.range(4), [0, 0, 1, 1]\n"
    )
    with pytest.raises(ValueError, match=r"a tf\.data\.Dataset\. Collect it"):
        load(f"{file}:f", split)
