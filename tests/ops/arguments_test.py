import math
import pathlib

import keras
import numpy as np
import pytest

from embeddings_tf.ops.arguments import LARGEST
from embeddings_tf.ops.arguments import LARGEST_NUMBER
from embeddings_tf.ops.arguments import array
from embeddings_tf.ops.arguments import finite_number
from embeddings_tf.ops.arguments import function
from embeddings_tf.ops.arguments import keras_layer
from embeddings_tf.ops.arguments import mapping
from embeddings_tf.ops.arguments import num_rows
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import path
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import positive_number
from embeddings_tf.ops.arguments import random_seed
from embeddings_tf.ops.arguments import sequence
from embeddings_tf.ops.arguments import share
from embeddings_tf.ops.arguments import text
from embeddings_tf.ops.arguments import truth


@pytest.mark.parametrize("value", [1, 7, np.int64(7), np.uint8(7)])
def test_positive_integer(value):
    number = positive_integer("dim", value)
    assert number == value
    assert type(number) is int


@pytest.mark.parametrize("value", [0, -1, 2.0, "2", None, True, [1]])
def test_not_a_positive_integer(value):
    with pytest.raises(ValueError, match="`dim` must be an integer") as caught:
        positive_integer("dim", value)
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    ("value", "shown"), [(np.int64(0), "0"), (np.float32(2), "2.0")]
)
def test_numbers_of_numpy_are_named_as_those_of_python(value, shown):
    with pytest.raises(ValueError, match=f"received {shown}\\."):
        positive_integer("dim", value)


@pytest.mark.parametrize("value", [0, 1, 2.5, np.float32(3)])
def test_number_at_least(value):
    number = number_at_least("margin", value, 0)
    assert number == value
    assert type(number) is float


@pytest.mark.parametrize(
    "value", [-1e-9, float("nan"), float("inf"), "1", None, True, [1.0], 1j]
)
def test_not_a_number_at_least(value):
    with pytest.raises(ValueError, match="`margin` must be a finite number"):
        number_at_least("margin", value, 0)


def test_one_of():
    assert one_of("sampler", "naive", ("intersection", "naive")) == "naive"
    with pytest.raises(
        ValueError,
        match="`sampler` must be one of 'intersection', 'naive'; received None",
    ):
        one_of("sampler", None, ("intersection", "naive"))


def test_no_count_is_beyond_int32():
    assert positive_integer("dim", 2**31 - 1) == LARGEST == 2**31 - 1
    for value in (2**31, 2**62, 2**70):
        with pytest.raises(
            ValueError, match="`dim` must be at most 2147483647"
        ):
            positive_integer("dim", value)


@pytest.mark.parametrize("value", [np.ones(2), ["naive"], b"naive", 0])
def test_none_of_the_names(value):
    with pytest.raises(ValueError, match="`sampler` must be one of 'naive'"):
        one_of("sampler", value, ("naive",))


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (truth, [True, 0, np.True_], ["no", None, 2, 0.5, [1]]),
        (finite_number, [-1, 2.5], ["1", None, True, float("nan"), 1j]),
        (positive_number, [1, 2.5], [0, "1", None, True, math.nan, math.inf]),
        (share, [0, 0.5], [1.0, -0.1, "0", None, True, math.nan, 1j]),
        (path, ["a/b", pathlib.Path("a")], ["", None, 3, b"a"]),
        (random_seed, [0, np.int64(7), 2**63 - 1], [-1, 2**63, 1.5, None, "1"]),
        (sequence, [(1, 2), [3]], [None, "ab", 3, {"a": 1}]),
    ],
)
def test_other_kinds(check, good, bad):
    for value in good:
        check("argument", value)
    for value in bad:
        with pytest.raises(ValueError, match="`argument` must be") as caught:
            check("argument", value)
        assert repr(value) in str(caught.value)


def test_a_sequence_of_a_length():
    assert sequence("snr", (1, 2), 2) == [1, 2]
    with pytest.raises(ValueError, match="sequence of 2 values"):
        sequence("snr", (1, 2, 3), 2)


def test_ranges():
    assert number_at_least("beta", 2, 0, 3) == 2
    assert positive_number("scale", 3, 3) == 3
    for check in (number_at_least, positive_number):
        minimum = (0,) if check is number_at_least else ()
        with pytest.raises(ValueError, match="`x` must be at most 1e.18; rec"):
            check("x", 2e18, *minimum, LARGEST_NUMBER)


def test_positive_numbers_that_float32_rounds_to_0():
    assert positive_number("scale", 1e-37) == 1e-37
    with pytest.raises(ValueError, match="at least 1e-37, .*received 1e-45"):
        positive_number("scale", 1e-45)


def test_number_of_rows():
    assert [num_rows("x", x) for x in ([1, 2], np.zeros((3, 1)), ())] == [
        2,
        3,
        0,
    ]
    for bad in (None, 3, "text", b"text", np.float32(1), np.zeros(())):
        with pytest.raises(ValueError, match="`x` must have one row") as caught:
            num_rows("x", bad)
        assert repr(bad) in str(caught.value)


def test_keras_layer():
    layer = keras.layers.Dense(2)
    assert keras_layer("model", layer) is layer
    for bad in (None, "text", np.ones(3), keras.layers.Dense):
        with pytest.raises(ValueError, match="`model` must be a Keras model"):
            keras_layer("model", bad)


def test_path_and_text():
    assert path("log_dir", "a/b") == pathlib.Path("a/b")
    for bad in ("", None, 3, b"a", "a\0b"):
        with pytest.raises(ValueError, match="`log_dir` must be the path"):
            path("log_dir", bad)
    assert text("name", "") == ""
    with pytest.raises(ValueError, match="`name` must be a string; received 3"):
        text("name", 3)


def test_array():
    assert array("labels", [[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="`labels` must be an array.*list"):
        array("labels", [[1, 2], [3]])


def test_function():
    assert function("score", abs, "two arrays") is abs
    with pytest.raises(
        ValueError, match="`score` must be a function of two arrays; received 3"
    ):
        function("score", 3, "two arrays")


def test_mapping():
    values = {"a": 1}
    assert mapping("report", values) is values
    for value in (None, 3, "a", [("a", 1)]):
        with pytest.raises(ValueError, match="`report` must be a mapping"):
            mapping("report", value)
