"""Prints the fields of a run: `--config RECIPE --help`."""

import dataclasses
import shlex
import textwrap
import typing
from collections.abc import Iterator
from collections.abc import Mapping
from typing import NamedTuple

from trainers.run import Part
from trainers.run import Run
from trainers.run_fields import PLACES
from trainers.run_fields import field_types
from trainers.run_fields import join
from trainers.run_fields import place_of
from trainers.signatures import REQUIRED
from trainers.signatures import settable

# Sections of a run whose fields are at the top level of a config.
_AT_THE_TOP = ("data", "training")


class Line(NamedTuple):
    """A field: name, current value, type and help."""

    name: str
    value: object
    type: str
    help: str


def help_of_run(recipe: str, run: Run) -> str:
    """Returns every field of a run with type, value and help."""
    texts = [
        f"The fields of {recipe!r} with their current values. Set a field with "
        "--config.FIELD=VALUE; texts, numbers and tuples are written as in "
        "Python. A part without a name is not used."
    ]
    for field in dataclasses.fields(run):
        texts.append(f"{field.name}: {field.metadata['help']}")
        section = getattr(run, field.name)
        if isinstance(section, Part):
            prefix = place_of(section, field.name)
            lines = lines_of_part(section, field.name, prefix, "")
        else:
            prefix = "" if field.name in _AT_THE_TOP else field.name
            lines = lines_of_section(section, prefix)
        texts += [_text(line) for line in lines]
    return "\n".join(
        text if text.startswith(" ") else f"\n{textwrap.fill(text, 79)}\n"
        for text in texts
    ).strip()


def lines_of_section(section, prefix: str) -> Iterator[Line]:
    """Yields the fields of a dataclass, and of the sections in it."""
    types = field_types(type(section))
    for field in dataclasses.fields(section):
        value, help = getattr(section, field.name), field.metadata["help"]
        name = join(prefix, field.name)
        if name == "evaluation.validation":
            name = "validation"
        if isinstance(value, Part):
            yield from lines_of_part(value, field.name, name, help)
        elif dataclasses.is_dataclass(value):
            yield from lines_of_section(value, name)
        elif isinstance(value, Mapping):
            yield from _lines_of_mapping(value, name, help)
        else:
            yield Line(name, value, _type_text(types[field.name]), help)


def _lines_of_mapping(values: Mapping, name: str, help: str) -> Iterator[Line]:
    yield Line(f"{name}.NAME", "", "section", help)
    for key, value in values.items():
        if dataclasses.is_dataclass(value):
            yield from lines_of_section(value, join(name, key))
        else:
            yield Line(join(name, key), value, type(value).__name__, help)


def lines_of_part(
    part: Part, field: str, prefix: str, help: str
) -> Iterator[Line]:
    """Yields the name and every argument of an object, also defaults."""
    modules = PLACES[place_of(part, field)]
    text = help or f"What it is: a name in {' or '.join(modules)}."
    yield Line(join(prefix, "name"), part.name, "str", text)
    found = settable(modules, part.name)
    arguments = found.arguments if found else {}
    for name in {**arguments, **part.arguments}:
        wanted, default, help = arguments.get(name, ((), REQUIRED, ""))
        value = part.arguments.get(name, default)
        inner = name if name == "decoder" else join(prefix, name)
        if isinstance(value, Part):
            yield from lines_of_part(value, name, inner, help)
        else:
            kinds = " | ".join(getattr(wanted, "kinds", ())) or "any"
            yield Line(inner, value, kinds, help)


def _type_text(kind) -> str:
    return str(kind) if typing.get_args(kind) else kind.__name__


def _text(line: Line) -> str:
    value = "" if line.value is REQUIRED else line.value
    word = f"--config.{line.name}={value}"
    if isinstance(value, tuple):
        word = f"--config.{line.name}={shlex.quote(str(value))}"
    elif word != shlex.quote(word):
        word = f"--config.{line.name}={shlex.quote(str(value))}"
    needed = ", has to be set" if line.value is REQUIRED else ""
    head = f"  {word}  ({line.type}{needed})"
    if not line.help:
        return head
    return f"{head}\n" + textwrap.fill(
        line.help, 79, initial_indent=" " * 8, subsequent_indent=" " * 8
    )
