"""Prints the fields of a run: `--config RECIPE --help`."""

import dataclasses
import json
import shlex
import textwrap
from collections.abc import Iterator
from collections.abc import Mapping
from typing import NamedTuple

from trainers.config.field_types import type_of_value
from trainers.config.load import recipe_name
from trainers.config.places import PLACES
from trainers.config.places import place_of
from trainers.config.run import Part
from trainers.config.run import Run
from trainers.config.run_fields import config_name
from trainers.config.run_fields import field_types
from trainers.config.run_fields import may_lack
from trainers.config.run_fields import type_text
from trainers.config.signatures import REQUIRED
from trainers.config.signatures import Expression
from trainers.config.signatures import settable
from trainers.recipes import every_recipe
from trainers.terminal import command_names


class Line(NamedTuple):
    """A field: name, current value, type and help."""

    name: str
    value: object
    type: str
    help: str


def help_of_run(recipe: str, run: Run) -> str:
    """Returns every field of a run with type, value and help.

    A recipe of a table comes with its description, and the command that prints
    the docstring of its module.
    """
    texts = [
        *_about(recipe),
        f"The fields of {recipe!r} with their current values. Set a field with "
        "--config.FIELD=VALUE; texts, numbers and tuples are written as in "
        "Python. A part without a name is not used.",
    ]
    for field in dataclasses.fields(run):
        texts.append(f"{field.name}: {field.metadata['help']}")
        section = getattr(run, field.name)
        if isinstance(section, Part):
            prefix = place_of(section, field.name)
            lines = lines_of_part(section, field.name, prefix, "")
        else:
            lines = lines_of_section(section, config_name("", field.name))
        texts += [_text(line) for line in lines]
    return "\n".join(
        text if text.startswith(" ") else f"\n{textwrap.fill(text, 79)}\n"
        for text in texts
    ).strip()


def _about(recipe: str) -> list[str]:
    found = every_recipe().get(recipe_name(recipe))
    if found is None:
        return []
    command = command_names.shell_command("pydoc")
    return [
        f"{found.about}. This prints more about it, with its departures from "
        "a paper, if any:",
        f"  {command} {found.make.__module__}",
    ]


def lines_of_section(section, prefix: str) -> Iterator[Line]:
    """Yields the fields of a dataclass, and of the sections in it."""
    types = field_types(type(section))
    for field in dataclasses.fields(section):
        value, help = getattr(section, field.name), field.metadata["help"]
        name = config_name(prefix, field.name)
        if isinstance(value, Part):
            if value.name and may_lack(type(section), field.name):
                help = f"{help} --config.{name}=None: without it."
            yield from lines_of_part(value, field.name, name, help)
        elif dataclasses.is_dataclass(value):
            yield from lines_of_section(value, name)
        elif isinstance(value, Mapping):
            yield from _lines_of_mapping(value, name, help)
        else:
            yield Line(name, value, type_text(types[field.name]), help)


def _lines_of_mapping(values: Mapping, name: str, help: str) -> Iterator[Line]:
    yield Line(f"{name}.NAME", "", "section", help)
    for key, value in values.items():
        if dataclasses.is_dataclass(value):
            yield from lines_of_section(value, config_name(name, key))
        else:
            yield Line(
                config_name(name, key), value, type(value).__name__, help
            )


def lines_of_part(
    part: Part, field: str, prefix: str, help: str
) -> Iterator[Line]:
    """Yields the name and every argument of an object, also defaults."""
    place = place_of(part, field)
    modules = PLACES[place]
    text = help or (
        f"What it is: a name in {' or '.join(modules)}, or FILE.py:NAME."
    )
    yield Line(config_name(prefix, "name"), part.name, "str", text)
    found = settable(modules, part.name, place)
    arguments = found.arguments if found else {}
    for name in {**arguments, **part.arguments}:
        wanted, default, help = arguments.get(name, ((), REQUIRED, ""))
        value = part.arguments.get(name, default)
        inner = config_name(prefix, name)
        if isinstance(value, Part):
            if default is None:
                help = f"{help} --config.{inner}=None: without it.".strip()
            yield from lines_of_part(value, name, inner, help)
        else:
            kinds = getattr(wanted, "kinds", ()) or type_of_value(value).kinds
            yield Line(inner, value, " | ".join(kinds) or "any", help)


def _literal(value) -> str:
    """A value as it is set; texts in a tuple have double quotes."""
    if not isinstance(value, tuple):
        return str(value)
    items = [
        json.dumps(v) if isinstance(v, str) else _literal(v) for v in value
    ]
    return f"({', '.join(items)}{',' * (len(items) == 1)})"


def _text(line: Line) -> str:
    value, note = _literal(line.value), ""
    if line.value is REQUIRED:
        value, note = "", ", has to be set"
    elif isinstance(line.value, Expression):  # cannot be written as a value
        value, note = "", f", default {line.value}"
    word = f"--config.{line.name}={value}"
    if value and word != shlex.quote(word):
        word = f"--config.{line.name}={shlex.quote(value)}"
    head = f"  {word}  ({line.type}{note})"
    if not line.help:
        return head
    return f"{head}\n" + textwrap.fill(
        line.help, 79, initial_indent=" " * 8, subsequent_indent=" " * 8
    )
