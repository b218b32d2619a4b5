"""Types of fields."""

import math
import sys

import pytest

from trainers.config.field_types import FieldType
from trainers.config.field_types import converted
from trainers.config.field_types import field_type
from trainers.config.field_types import parsed
from trainers.config.field_types import type_of_value


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        ("int", "an integer"),
        ("float | None", "a number or None"),
        ("str | None", "text or None"),
        ("tuple[str, ...]", "a tuple (each text)"),
        ("tuple[int, int]", "a tuple (2 items, each an integer)"),
        ("keras.layers.Layer", ""),
        ("int | keras.Variable", ""),
        ("Sequence[int]", ""),
    ],
)
def test_annotations_in_words(annotation, words):
    assert field_type(annotation).words == words


@pytest.mark.parametrize(
    ("text", "annotation", "value"),
    [
        ("7", "int", 7),
        ("7", "float", 7.0),
        ("7", "str", "7"),
        ("None", "str", "None"),
        ("None", "str | None", None),
        ("imagenet", "str | None", "imagenet"),
        ("[1, 2]", "tuple[int, ...]", (1, 2)),
        ("(1, 2)", "tuple[float, ...]", (1.0, 2.0)),
        ("False", "bool", False),
        ("any text", "", "any text"),
        ("[1]", "", (1,)),
    ],
)
def test_words_of_the_command_line(text, annotation, value):
    found = parsed(text, field_type(annotation), "field")
    assert found == value and type(found) is type(value)
    if isinstance(value, tuple):
        assert [type(item) for item in found] == [type(v) for v in value]


@pytest.mark.parametrize(
    ("text", "annotation"),
    [
        ("1.0", "int"),
        ("True", "int"),
        ("True", "float"),
        ("1", "bool"),
        ("1", "tuple[int, ...]"),
        ("(1, 2)", "tuple[int, int, int]"),
        ("('a', 1)", "tuple[str, ...]"),
        ("None", "int"),
        ("(" * 300, "int"),
        ("1" * 400, "float"),
        ("1" * 400, "float | None"),
        (f"({'1' * 400},)", "tuple[float, ...]"),
    ],
)
def test_another_type_is_refused(text, annotation):
    wanted = field_type(annotation)
    with pytest.raises(ValueError, match=r"^config\.a\.b must be ") as caught:
        parsed(text, wanted, "a.b")
    assert "received" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "annotation"),
    [
        ("1e400", "float"),
        ("-1e400", "float | None"),
        ("(1.0, 1e400)", "tuple[float, ...]"),
        ("1e400", ""),
        ("(1.0, (1e400,))", ""),
        ("{'a': 1e400}", ""),
    ],
)
def test_infinite_numbers_are_refused(text, annotation):
    with pytest.raises(ValueError, match=r"^config\.a\.b must be finite; re"):
        parsed(text, field_type(annotation), "a.b")


def test_nan_is_refused():
    message = "^config.a must be finite; received nan"
    with pytest.raises(ValueError, match=message):
        converted(math.nan, field_type("float"), "a")


def test_the_largest_numbers():
    """All integers below 2**1024 - 2**970 round to a finite float."""
    largest = 2**1024 - 2**970 - 1
    found = parsed(str(largest), field_type("float"), "a")
    assert found == sys.float_info.max
    with pytest.raises(ValueError, match="^config.a must be a number"):
        parsed(str(largest + 1), field_type("float"), "a")


@pytest.mark.parametrize("text", ["1j", "b'x'", "{1, 2}", "...", "(1, 1j)"])
def test_what_json_cannot_contain_is_refused(text):
    with pytest.raises(ValueError, match="^config.a must be text, a number"):
        parsed(text, FieldType(), "a")


def test_the_type_of_a_default_without_annotation():
    assert type_of_value(0.5).kinds == ("float",)
    assert type_of_value(()).kinds == ("tuple",)
    assert type_of_value(None).kinds == ()
    assert converted({"a": 1}, type_of_value(None), "x") == {"a": 1}
