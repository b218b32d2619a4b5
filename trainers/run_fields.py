"""Reads and sets the typed fields of a run."""

import dataclasses
import difflib
import functools
import typing
from collections.abc import Iterable
from collections.abc import Mapping

from trainers.evaluation_fields import EVALUATIONS
from trainers.evaluation_fields import Evaluation
from trainers.field_types import FieldType
from trainers.field_types import converted
from trainers.field_types import field_type
from trainers.field_types import parsed
from trainers.field_types import type_of_value
from trainers.places import PLACES
from trainers.places import method_kind
from trainers.places import place_of
from trainers.run import Method
from trainers.run import Part
from trainers.signatures import REQUIRED
from trainers.signatures import Expression
from trainers.signatures import settable
from trainers.signatures import signature


@functools.cache
def field_types(kind: type) -> dict[str, type]:
    """Returns the fields of a dataclass with their types."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def plain_type(kind) -> FieldType:
    """Returns the type of a field that is not a section."""
    return field_type(str(kind) if typing.get_args(kind) else kind.__name__)


def join(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else name


def unknown_field(name: str, known: Iterable[str]) -> ValueError:
    """Returns the error for an unknown field, with the nearest name."""
    known = sorted(known)
    prefix, _, last = name.rpartition(".")
    near = difflib.get_close_matches(last, known, 1)
    return ValueError(
        f"unknown field config.{name}; the fields there are {', '.join(known)}"
        + (f". Did you mean config.{join(prefix, near[0])}?" if near else "")
    )


def evaluation_kind(name: str) -> type[Evaluation]:
    """Returns the dataclass of an evaluation by its name."""
    if name not in EVALUATIONS:
        raise ValueError(
            f"config.evaluation.name={name!r} is unknown; there are "
            f"{', '.join(EVALUATIONS)}"
        )
    return EVALUATIONS[name]


def section(kind: type, values, prefix: str):
    """Makes a dataclass from values by name.

    Args:
        kind: The dataclass; `Evaluation` means the named evaluation.
        values: A mapping; omitted fields have their default.
        prefix: The name of the section, for messages.

    Raises:
        ValueError: If a field does not exist or has another type.
    """
    if not isinstance(values, Mapping):
        raise ValueError(
            f"config.{prefix} must be a section; received {values!r}"
        )
    if kind is Evaluation:
        kind = evaluation_kind(values.get("name", ""))
    types = field_types(kind)
    found = {}
    for name, value in values.items():
        if name not in types:
            raise unknown_field(join(prefix, name), types)
        found[name] = _value(types[name], value, name, join(prefix, name))
    return kind(**found)


def _value(kind, value, field: str, name: str):
    if kind is Part:
        return part(value, field, name)
    if dataclasses.is_dataclass(kind):
        prefix = "validation" if name == "evaluation.validation" else name
        return section(kind, value, prefix)
    if typing.get_origin(kind) is Mapping:
        _, inner = typing.get_args(kind)
        if not isinstance(value, Mapping):
            raise ValueError(
                f"config.{name} must be a section; received {value!r}"
            )
        return {
            key: _value(inner, item, key, join(name, key))
            for key, item in value.items()
        }
    return converted(value, plain_type(kind), name)


def part(values, place: str, prefix: str) -> Part:
    """Makes a `Part` from a name and arguments.

    Raises:
        ValueError: If the object has no such argument, or an argument has
            another type.
    """
    if not isinstance(values, Mapping):
        raise ValueError(
            f"config.{prefix} must be a section; received {values!r}"
        )
    values = dict(values)
    name = converted(
        values.pop("name", ""), FieldType(("str",)), join(prefix, "name")
    )
    arguments = {}
    for argument, value in values.items():
        inner = join(prefix, argument)
        wanted = argument_type(name, place, argument, inner)
        if isinstance(value, Mapping) and argument in PLACES:
            arguments[argument] = part(value, argument, inner)
        else:
            arguments[argument] = converted(value, wanted, inner)
    return Part(name, arguments)


def with_defaults(part: Part, field: str) -> Part:
    """The part with every argument that its signature has a value for."""
    found = settable(PLACES[place_of(part, field)], part.name)
    arguments = {
        name: with_defaults(value, name) if isinstance(value, Part) else value
        for name, value in part.arguments.items()
    }
    for name, argument in found.arguments.items() if found else ():
        is_value = argument.default is not REQUIRED
        if is_value and not isinstance(argument.default, Expression):
            arguments.setdefault(name, argument.default)
    return dataclasses.replace(part, arguments=arguments)


def argument_type(
    name: str, place: str, argument: str, field: str
) -> FieldType:
    """Returns the type of an argument; any type for unknown signatures.

    Raises:
        ValueError: If the object `name` has no such argument.
    """
    found = signature(PLACES[place], name)
    if found is None:
        return FieldType()
    if argument in found.arguments:
        return found.arguments[argument].type
    if found.is_open:
        return FieldType()
    raise unknown_field(
        field, {"name", *settable(PLACES[place], name).arguments}
    )


def replaced(values, path: list[str], text: str, field: str, name: str):
    """Returns a section with one field set from the command line.

    Args:
        values: The section: a dataclass, a `Part` or a mapping.
        path: Names that lead to the field.
        text: The new value.
        field: The name of the section within its parent section.
        name: The full name of the section, for messages.

    Raises:
        ValueError: If the field does not exist or has another type.
    """
    if not path:
        raise _is_section(name, _names_in(values))
    if isinstance(values, Part):
        return _replaced_in_part(values, path, text, field, name)
    first, *rest = path
    inner = join(name, first)
    types = field_types(type(values))
    if first not in types:
        raise unknown_field(inner, types)
    if isinstance(values, Evaluation) and path == ["name"]:
        return _another_evaluation(values, text)
    kind, old = types[first], getattr(values, first)
    if typing.get_origin(kind) is Mapping:
        new = _replaced_in_mapping(kind, old, rest, text, inner)
    elif dataclasses.is_dataclass(kind):
        new = replaced(old, rest, text, first, inner)
    elif rest:
        raise _is_no_section(inner, rest, types)
    else:
        new = parsed(text, plain_type(kind), inner)
    return dataclasses.replace(values, **{first: new})


def _replaced_in_mapping(kind, old, rest, text, name):
    _, inner = typing.get_args(kind)
    if not rest:
        raise _is_section(name, old)
    key, *rest = rest
    if dataclasses.is_dataclass(inner):
        value = old.get(key, inner())
        return {**old, key: replaced(value, rest, text, key, join(name, key))}
    if rest:
        raise _is_no_section(join(name, key), rest, old)
    return {**old, key: parsed(text, plain_type(inner), join(name, key))}


def _replaced_in_part(old: Part, path, text, field, name) -> Part:
    first, *rest = path
    if path == ["name"]:
        return _renamed(old, text, field)
    if not old.name:
        raise ValueError(
            f"config.{name} has no name yet; set config.{name}.name first"
        )
    inner, place = join(name, first), place_of(old, field)
    found = signature(PLACES[place], old.name)
    # An argument that only `**kwargs` accepts is probably a typo.
    if found is not None and first not in {**found.arguments, **old.arguments}:
        known = settable(PLACES[place], old.name).arguments
        raise unknown_field(inner, {"name", *known, *old.arguments})
    wanted = argument_type(old.name, place, first, inner)
    value = old.arguments.get(first)
    if rest:
        if first not in PLACES:
            raise _is_no_section(inner, rest, old.arguments)
        if not isinstance(value, Part):
            value = Part()
        new = _replaced_in_part(value, rest, text, first, inner)
    elif isinstance(value, Part) and not wanted.kinds:
        raise _is_section(inner, _names_in(value))
    else:
        if not wanted.kinds and not isinstance(value, Part):
            wanted = type_of_value(value)
        new = parsed(text, wanted, inner)
    return dataclasses.replace(old, arguments={**old.arguments, first: new})


def _renamed(old: Part, name: str, field: str) -> Part:
    """Returns another object; keeps the arguments that it also has."""
    changes = {}
    place = place_of(old, field)
    if isinstance(old, Method):
        place = changes["kind"] = method_kind(name) or old.kind
    found = signature(PLACES[place], name)
    arguments = {
        argument: value
        for argument, value in old.arguments.items()
        if found is None or argument in found.arguments
    }
    return dataclasses.replace(old, name=name, arguments=arguments, **changes)


def _another_evaluation(old: Evaluation, name: str) -> Evaluation:
    """Returns another evaluation of the same splits."""
    new = evaluation_kind(name)(splits=old.splits)
    validation = dataclasses.replace(new.validation, split=old.validation.split)
    return dataclasses.replace(new, validation=validation)


def _names_in(values) -> Iterable[str]:
    if isinstance(values, Part):
        return ("name", *values.arguments)
    return field_types(type(values))


def _is_section(name: str, known) -> ValueError:
    return ValueError(
        f"config.{name} is a section with the fields "
        f"{', '.join(sorted(known))}; set one of them"
    )


def _is_no_section(name: str, rest, known) -> ValueError:
    return ValueError(
        f"unknown field config.{'.'.join([name, *rest])}: config.{name} is "
        f"not a section; the other fields are {', '.join(sorted(known))}"
    )
