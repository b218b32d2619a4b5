"""Reads the typed fields of a run.

Configs and commands have the same reader. A config is read over nothing: the
fields that it omits have their default. An override such as `folds.fold=2` is
the mapping `{"folds": {"fold": Text("2")}}`, read over the run so far.

`name` is the dotted name of a field in configs and messages; `field` is its
last part, which selects the modules of a part (`PLACES`).
"""

import dataclasses
import difflib
import functools
import itertools
import typing
from collections.abc import Iterable
from collections.abc import Mapping

from trainers.config.evaluation_fields import EVALUATIONS
from trainers.config.evaluation_fields import Evaluation
from trainers.config.field_types import FieldType
from trainers.config.field_types import converted
from trainers.config.field_types import field_type
from trainers.config.field_types import parsed
from trainers.config.field_types import type_of_value
from trainers.config.own_code import file_and_name
from trainers.config.places import PLACES
from trainers.config.places import method_kind
from trainers.config.places import place_of
from trainers.config.run import Method
from trainers.config.run import Part
from trainers.config.signatures import KERAS_ARGUMENTS
from trainers.config.signatures import REQUIRED
from trainers.config.signatures import Expression
from trainers.config.signatures import settable
from trainers.config.signatures import signature


@functools.cache
def field_types(kind: type) -> dict[str, type]:
    """Returns the fields of a dataclass with their types."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def may_lack(kind: type, field: str) -> bool:
    """Whether None leaves a part out, such as `preprocess`, not `encoder`."""
    default = kind.__dataclass_fields__[field].default
    return default == Part() and field != "encoder"


def type_text(kind) -> str:
    """Returns the type of a field as it is written in Python."""
    return str(kind) if typing.get_args(kind) else kind.__name__


class Text(str):
    """A value of the command line, converted by the type of its field."""


# Names in a config of sections that a run has elsewhere.
_NAMES = {
    "data": "",
    "training": "",
    "autoencoder.decoder": "decoder",
    "evaluation.validation": "validation",
    "method.decoder": "decoder",
}


def config_name(prefix: str, name: str) -> str:
    """Returns the name of a field in configs, commands and messages."""
    full = f"{prefix}.{name}" if prefix else name
    return _NAMES.get(full, full)


def unknown_field(
    name: str, known: Iterable[str], meant: str = ""
) -> ValueError:
    """Returns the error for an unknown field, with the nearest name.

    Args:
        name: The unknown field.
        known: Names of the fields in its section.
        meant: The field to name instead of the nearest.
    """
    known = sorted(known)
    prefix, _, last = name.rpartition(".")
    near = difflib.get_close_matches(last, known, 1)
    message = (
        f"unknown field config.{name}; the fields there are {', '.join(known)}"
    )
    if near and not meant:
        meant = config_name(prefix, near[0])
    if meant:
        message += f". Did you mean config.{meant}?"
    return ValueError(message)


def evaluation_kind(name: str) -> type[Evaluation]:
    """Returns the dataclass of an evaluation by its name."""
    if name not in EVALUATIONS:
        raise ValueError(
            f"config.evaluation.name={name!r} is unknown; expected one of "
            f"{', '.join(EVALUATIONS)}"
        )
    return EVALUATIONS[name]


def read_section(kind: type, values, name: str, old=None):
    """Makes a dataclass from values by name.

    Args:
        kind: The dataclass; `Evaluation` means the named evaluation.
        values: A mapping.
        name: The name of the section, for messages.
        old: The section so far, which has the omitted fields. None: omitted
            fields have their default.

    Raises:
        ValueError: If a field does not exist or has another type.
    """
    if old is not None:
        kind = type(old)
    _require_section(values, name, field_types(kind))
    if isinstance(old, Evaluation) and isinstance(values.get("name"), Text):
        return _another_evaluation(old, values["name"])
    if kind is Evaluation:
        kind = evaluation_kind(values.get("name", ""))
    types = field_types(kind)
    found = {}
    for field, value in values.items():
        inner = config_name(name, field)
        if field not in types:
            raise unknown_field(inner, types)
        before = getattr(old, field, None)
        if types[field] is Part:
            is_optional = may_lack(kind, field)
            found[field] = read_part(value, field, inner, before, is_optional)
            continue
        found[field] = _value(types[field], value, field, inner, before, types)
    return kind(**found) if old is None else dataclasses.replace(old, **found)


def _value(kind, value, field: str, name: str, old, siblings):
    if dataclasses.is_dataclass(kind):
        return read_section(kind, value, name, old)
    if typing.get_origin(kind) is not Mapping:
        return _read_value(value, field_type(type_text(kind)), name, siblings)
    _, inner = typing.get_args(kind)
    old = old or {}
    known = old or ("NAME",)
    if dataclasses.is_dataclass(inner):
        known = map(".".join, itertools.product(known, field_types(inner)))
    _require_section(value, name, known)
    return dict(old) | {
        key: _value(inner, item, key, config_name(name, key), old.get(key), old)
        for key, item in value.items()
    }


def _read_value(value, wanted: FieldType, name: str, siblings):
    """Converts the value of a field that is not a section."""
    if isinstance(value, Text):
        return parsed(str(value), wanted, name)
    path = _path(value)
    if path:
        raise ValueError(
            f"unknown field config.{'.'.join([name, *path])}: config.{name} is "
            f"not a section; the other fields are {', '.join(sorted(siblings))}"
        )
    return converted(value, wanted, name)


def _path(value) -> list[str] | None:
    """Returns the names above the text of an override, None without text."""
    path = []
    while isinstance(value, Mapping) and len(value) == 1:
        ((name, value),) = value.items()
        path.append(name)
    return path if isinstance(value, Text) else None


def read_part(
    values,
    field: str,
    name: str,
    old: Part | None = None,
    is_optional: bool = False,
) -> Part:
    """Makes a `Part` from a name and arguments.

    Args:
        values: A mapping.
        field: The field of the run, or the argument, that has the part.
        name: The name of the section, for messages.
        old: The part so far, which has the omitted arguments.
        is_optional: Whether None removes the part.

    Raises:
        ValueError: If the object has no such argument, or an argument has
            another type.
    """
    if is_optional and _is_none(values):
        return Part()
    found = old or Part()
    known = ("name", *found.arguments)
    _require_section(values, name, known, is_optional)
    if "name" in values:
        inner = config_name(name, "name")
        text = _read_value(values["name"], FieldType(("str",)), inner, known)
        if isinstance(values["name"], Text):
            found = _renamed(found, text, field)
        else:
            found = dataclasses.replace(found, name=text)
    arguments = {
        argument: _argument(found, field, argument, value, name)
        for argument, value in values.items()
        if argument != "name"
    }
    return dataclasses.replace(found, arguments=found.arguments | arguments)


def _is_none(value) -> bool:
    """Whether a config or an override sets None."""
    is_text = isinstance(value, Text) and value.strip() == "None"
    return value is None or is_text


def _argument(of: Part, field: str, argument: str, value, name: str):
    """Converts an argument of a part."""
    inner, is_override = config_name(name, argument), _path(value) is not None
    if is_override and not of.name:
        raise ValueError(
            f"config.{name} has no name yet; set config.{name}.name first"
        )
    wanted = _argument_type(of, field, argument, inner, is_override)
    old = of.arguments.get(argument)
    if isinstance(value, Mapping) and argument in PLACES:
        old = old if isinstance(old, Part) else None
        return read_part(value, argument, inner, old)
    is_part = isinstance(old, Part)
    is_optional = _is_optional(of, field, argument)
    if is_optional and _is_none(value):
        return None
    # In code of the user's own, an argument may be of any kind.
    is_ours = is_optional and not file_and_name(of.name)
    if not wanted.kinds and (is_part or isinstance(value, Text) and is_ours):
        known = ("name", *(old.arguments if is_part else ()))
        _require_section(value, inner, known, is_optional)
    elif not wanted.kinds:
        wanted = type_of_value(old)
    return _read_value(value, wanted, inner, of.arguments)


def _is_optional(of: Part, field: str, argument: str) -> bool:
    """Whether an argument is a part, or None for none."""
    if argument not in PLACES:
        return False
    found = signature(PLACES[place_of(of, field)], of.name)
    known = found.arguments if found is not None else {}
    return argument in known and known[argument].default is None


def _argument_type(
    of: Part, field: str, argument: str, name: str, is_override: bool
) -> FieldType:
    """Returns the type of an argument; any type for unknown signatures."""
    place = place_of(of, field)
    modules = PLACES[place]
    found = signature(modules, of.name)
    if found is None:
        return FieldType()
    known = settable(modules, of.name, place).arguments
    if argument in found.arguments:
        is_keras = argument in KERAS_ARGUMENTS and not file_and_name(of.name)
        is_refused = place == "batches" or (is_override and is_keras)
        if argument not in known and is_refused:
            meant = argument if argument == "seed" else ""
            raise unknown_field(name, {"name", *known}, meant)
        return found.arguments[argument].type
    # An override that only `**kwargs` accepts is probably a typo.
    if argument in of.arguments or (found.is_open and not is_override):
        return FieldType()
    raise unknown_field(name, {"name", *known, *of.arguments})


def _require_section(
    values, name: str, known: Iterable[str], is_optional: bool = False
) -> None:
    if isinstance(values, Text):
        none = f", or config.{name}=None" if is_optional else ""
        raise ValueError(
            f"config.{name} is a section with the fields "
            f"{', '.join(sorted(known))}; set one of them{none}"
        )
    if not isinstance(values, Mapping):
        raise ValueError(
            f"config.{name} must be a section; received {values!r}"
        )


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
    """Returns the named evaluation of the same splits.

    If it has the same fields, as few_shot and n_digit_few_shot, it keeps them.
    """
    kind = evaluation_kind(name)
    if field_types(kind) == field_types(type(old)):
        return kind(**vars(old) | {"name": str(name)})
    new = kind(splits=old.splits)
    validation = dataclasses.replace(new.validation, split=old.validation.split)
    return dataclasses.replace(new, validation=validation)


def with_defaults(part: Part, field: str) -> Part:
    """The part with every argument that its signature has a value for."""
    place = place_of(part, field)
    found = settable(PLACES[place], part.name, place)
    arguments = {
        name: with_defaults(value, name) if isinstance(value, Part) else value
        for name, value in part.arguments.items()
    }
    for name, argument in found.arguments.items() if found else ():
        is_value = argument.default is not REQUIRED
        if is_value and not isinstance(argument.default, Expression):
            arguments.setdefault(name, argument.default)
    return dataclasses.replace(part, arguments=arguments)
