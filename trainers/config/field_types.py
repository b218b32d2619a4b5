"""Types of fields: checks of values, and descriptions for messages."""

import ast
import contextlib
import functools
import math
from collections.abc import Mapping
from typing import NamedTuple

_CLASSES = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "tuple": tuple,
    "None": type(None),
}
_WORDS = {
    "int": "an integer",
    "float": "a number",
    "bool": "True or False",
    "str": "text",
    "tuple": "a tuple",
    "None": "None",
}


class FieldType(NamedTuple):
    """The values that a type annotation accepts.

    Fields:
        kinds: Names of plain types; empty if any value is accepted.
        items: The type of each item of a tuple; None if any item is accepted.
        length: Items of a tuple; None for any number.
    """

    kinds: tuple[str, ...] = ()
    items: "FieldType | None" = None
    length: int | None = None

    @property
    def words(self) -> str:
        """Describes the expected value, for a message."""
        words = [_WORDS[kind] for kind in self.kinds]
        if self.items is not None and "tuple" in self.kinds:
            number = "" if self.length is None else f"{self.length} items, "
            inner = " or ".join(_WORDS[kind] for kind in self.items.kinds)
            words[self.kinds.index("tuple")] = f"a tuple ({number}each {inner})"
        return " or ".join(words)


@functools.cache
def field_type(annotation: str) -> FieldType:
    """Reads the source of a type annotation, such as `int | None`.

    An annotation that names a class of another kind accepts any value.
    """
    try:
        return _of_node(ast.parse(annotation, mode="eval").body)
    except (SyntaxError, KeyError):
        return FieldType()


def type_of_value(value) -> FieldType:
    """Type of a default without annotation; None accepts any value."""
    kind = type(value).__name__
    return FieldType((kind,) if kind in _CLASSES and value is not None else ())


def _of_node(node) -> FieldType:
    if isinstance(node, ast.BinOp):
        left, right = _of_node(node.left), _of_node(node.right)
        if not (left.kinds and right.kinds):
            return FieldType()
        return FieldType(
            left.kinds + right.kinds,
            left.items or right.items,
            left.length or right.length,
        )
    if isinstance(node, ast.Constant) and node.value is None:
        return FieldType(("None",))
    if isinstance(node, ast.Subscript):
        (kind,) = _of_node(node.value).kinds or (None,)
        if kind != "tuple":
            return FieldType()
        inner = getattr(node.slice, "elts", [node.slice])
        is_open = isinstance(inner[-1], ast.Constant) and inner[-1].value is ...
        length = None if is_open else len(inner)
        items = _of_node(inner[0])
        return FieldType(("tuple",), items if items.kinds else None, length)
    if isinstance(node, ast.Name) and node.id in _CLASSES:
        return FieldType((node.id,))
    return FieldType()


def converted(value, wanted: FieldType, name: str):
    """Converts a value for the field: lists to tuples, 1 to 1.0.

    Args:
        value: The given value.
        wanted: The type of the field.
        name: The field, for the message.

    Raises:
        ValueError: If the value has another type; names the expected type.
            Also if `config.json` cannot contain it, such as infinity.
    """
    value = _of_type(value, wanted, name)
    _require_plain(value, name)
    return value


def _require_plain(value, name: str) -> None:
    """Checks that JSON can contain a value of any type."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        for item in value:
            _require_plain(item, name)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"config.{name} must be finite; received {value!r}")
    elif not isinstance(value, str | int | float | None):
        raise ValueError(
            f"config.{name} must be text, a number, True, False, None or a "
            f"tuple of these; received {value!r}"
        )


def _of_type(value, wanted: FieldType, name: str):
    if isinstance(value, list):
        value = tuple(value)
    if not wanted.kinds:
        return value
    is_int = _is(value, "int")
    if is_int and "float" in wanted.kinds and "int" not in wanted.kinds:
        with contextlib.suppress(OverflowError):  # then it stays an integer
            value = float(value)
    if not any(_is(value, kind) for kind in wanted.kinds):
        raise ValueError(
            f"config.{name} must be {wanted.words}; received {value!r}"
        )
    if isinstance(value, tuple) and wanted.items is not None:
        if wanted.length not in (None, len(value)):
            raise ValueError(
                f"config.{name} must be {wanted.words}; received {value!r}"
            )
        try:
            value = tuple(_of_type(v, wanted.items, name) for v in value)
        except ValueError:
            raise ValueError(
                f"config.{name} must be {wanted.words}; received {value!r}"
            ) from None
    return value


def _is(value, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "bool"
    return isinstance(value, _CLASSES[kind])


def parsed(text: str, wanted: FieldType, name: str):
    """Converts a word of the command line to a value.

    Values are Python literals; anything else is text.

    Raises:
        ValueError: If the value has another type than `wanted`.
    """
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = text
    if "str" in wanted.kinds and not (value is None and "None" in wanted.kinds):
        value = text
    return converted(value, wanted, name)
