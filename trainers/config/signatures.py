"""Reads arguments of Keras objects from source, without TensorFlow."""

import ast
import functools
import importlib.util
import os
import pathlib
import re
from typing import Any
from typing import NamedTuple

from trainers.config.field_types import FieldType
from trainers.config.field_types import field_type
from trainers.config.field_types import type_of_value
from trainers.config.own_code import file_and_name

REQUIRED = ...  # the default of a required argument
# Arguments of a sampler that the training sets.
_OF_SAMPLERS = {"factors", "labels", "name", "seed", "start"}
# Arguments of every layer and loss of Keras.
KERAS_ARGUMENTS = {
    "activity_regularizer",
    "autocast",
    "dtype",
    "reduction",
    "trainable",
}
# Arguments that the training sets, and Keras's own.
_FILLED_IN = {
    *KERAS_ARGUMENTS,
    "encoder",
    "factors",
    "images",
    "labels",
    "length",
    "min_num_frames",
    "name",
    "start",
    "waveform",
}


class Argument(NamedTuple):
    """An argument of a class or function: type, default, one line of help."""

    type: FieldType
    default: Any
    help: str


class Signature(NamedTuple):
    """Arguments by name, and whether other arguments are accepted."""

    arguments: dict[str, Argument]
    is_open: bool


def signature(modules: tuple[str, ...], name: str) -> Signature | None:
    """Returns the arguments of a class or function in one of the modules.

    Args:
        modules: Dotted names of public modules, searched in order.
        name: The class or function, or `FILE.py:NAME`.

    Returns:
        None if no module defines or imports that name.

    Raises:
        ValueError: If a `FILE.py` is not there, or does not define `NAME`.
    """
    own = file_and_name(name)
    if own:
        return _signature(*_own_definition(*own))
    return _public_signature(modules, name)


@functools.cache
def _public_signature(modules: tuple[str, ...], name: str) -> Signature | None:
    for module in modules:
        found = _definition(module, name)
        if found is not None:
            return _signature(*found)
    return None


def ancestors(name: str) -> set[str]:
    """Names of the first base class of an own class, of its base, and so on."""
    lineage = [*_lineage(*_own_definition(*file_and_name(name)))]
    # A base may have another name where it is imported than where it is made.
    written = {_first_base(*found)[1] for found in lineage if found[1].bases}
    return written | {node.name for _, node in lineage[1:]}


def _own_definition(file: str, name: str):
    found = _definition(file, name)
    if found is None:
        known = [
            node.name
            for node in _source(file).body
            if isinstance(node, ast.ClassDef | ast.FunctionDef)
        ]
        raise ValueError(
            f"{file} defines no class or function {name!r}; it has "
            f"{', '.join(known) or 'none'}"
        )
    return found


def _source(module: str) -> ast.Module | None:
    """Parses the source of a module or file without importing it."""
    if module.endswith(".py"):  # it may change, or be of another folder
        return _source_of_file(module)
    return _source_of_module(module)


@functools.cache
def _source_of_module(module: str) -> ast.Module | None:
    package, *rest = module.split(".")
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        return None
    path = pathlib.Path(found.submodule_search_locations[0], *rest)
    for file in (path / "__init__.py", path.with_suffix(".py")):
        if file.is_file():
            return _source_of_file(str(file))
    return None


def _source_of_file(path: str) -> ast.Module:
    file = pathlib.Path(os.path.expanduser(path))
    if not file.is_file():
        raise ValueError(f"there is no file {path}")
    try:
        return ast.parse(file.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError, ValueError) as error:
        raise ValueError(
            f"{path} cannot be read: {type(error).__name__}: {error}"
        ) from error


def _definition(module: str, name: str, passed=()):
    """Finds the module and the node that define a name; follows imports.

    A package may import its submodule from itself: `passed` ends the search.
    """
    tree = None if (module, name) in passed else _source(module)
    # The last definition counts, such as a class named as its imported base.
    for node in reversed(tree.body if tree else ()):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            if node.name == name:
                return module, node
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    passed = (*passed, (module, name))
                    return _definition(node.module, alias.name, passed)
    return None


def _lineage(module: str, node):
    """Yields a class, its first base class and so on, with their modules."""
    passed = []
    while isinstance(node, ast.ClassDef) and (module, node.name) not in passed:
        yield module, node
        passed.append((module, node.name))
        found = _definition(*_first_base(module, node)) if node.bases else None
        module, node = found or (module, None)


def _first_base(module: str, node: ast.ClassDef) -> tuple[str, str]:
    """Module and name of the first base class, by the imports of the file."""
    first, dot, rest = ast.unparse(node.bases[0]).partition(".")
    full = _imports(module).get(first, first) + dot + rest
    place, _, name = full.rpartition(".")
    return place or module, name


def _imports(module: str) -> dict[str, str]:
    """Full names of the imports of a module, by their names in it."""
    found = {}
    for node in _source(module).body:
        if isinstance(node, ast.Import):
            named = [alias for alias in node.names if alias.asname]
            found |= {alias.asname: alias.name for alias in named}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found |= {
                alias.asname or alias.name: f"{node.module}.{alias.name}"
                for alias in node.names
            }
    return found


def _signature(module: str, node) -> Signature:
    """Arguments of a function; of a class, also those that its bases take."""
    if isinstance(node, ast.FunctionDef):
        return _of_function(node, ast.get_docstring(node))
    found = Signature({}, True)
    for _, each in _lineage(module, node):
        own = _of_class(each)
        found = Signature({**own.arguments, **found.arguments}, own.is_open)
        if not own.is_open:
            break
    return found


def _of_class(node: ast.ClassDef) -> Signature:
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef) and inner.name == "__init__":
            return _of_function(inner, ast.get_docstring(node))
    return Signature({}, True)


def _of_function(node: ast.FunctionDef, docstring: str | None) -> Signature:
    found = node.args
    plain = [*found.posonlyargs, *found.args]
    defaults = [None] * (len(plain) - len(found.defaults)) + found.defaults
    pairs = [
        *zip(plain, defaults, strict=True),
        *zip(found.kwonlyargs, found.kw_defaults, strict=True),
    ]
    texts = _help(docstring or "")
    arguments = {}
    for argument, default in pairs:
        if argument.arg != "self":
            value = REQUIRED if default is None else _value(default)
            wanted = (
                field_type(ast.unparse(argument.annotation))
                if argument.annotation
                else type_of_value(value)
            )
            arguments[argument.arg] = Argument(
                wanted, value, texts.get(argument.arg, "")
            )
    return Signature(arguments, found.kwarg is not None)


class Expression(str):
    """The source of a default that is not a Python literal."""


def _value(node):
    try:
        return ast.literal_eval(node)
    except ValueError:
        return Expression(ast.unparse(node))


def _help(docstring: str) -> dict[str, str]:
    """Returns the first sentence on each argument in a section `Args:`."""
    _, _, section = docstring.partition("Args:\n")
    found, names = {}, []
    for line in section.splitlines():
        if line.strip() and not line.startswith(" "):
            break
        start = re.match(r"    (\w+(?:, \w+)*): (.*)", line)
        if start:
            names = start.group(1).split(", ")
            found |= dict.fromkeys(names, start.group(2).strip())
        elif line.strip():
            for name in names:
                found[name] += f" {line.strip()}"
    return {
        name: re.split(r"(?<=[.;])\s", text, maxsplit=1)[0].rstrip(";")
        for name, text in found.items()
    }


def settable(
    modules: tuple[str, ...], name: str, place: str = ""
) -> Signature | None:
    """Like `signature`, without the arguments that the training sets.

    Args:
        modules: As for `signature`.
        name: As for `signature`.
        place: The key of the modules in `PLACES`, such as `batches`.
    """
    found = signature(modules, name)
    if found is None:
        return None
    arguments = {
        argument: value
        for argument, value in found.arguments.items()
        if not _is_filled_in(argument, value.default, place)
    }
    return Signature(arguments, found.is_open)


def _is_filled_in(argument: str, default, place: str) -> bool:
    if place == "batches":
        return argument in _OF_SAMPLERS
    # The run sets a sampler's seed, but not an objective's seed. The data
    # determines a method's number of classes.
    return (
        argument in _FILLED_IN
        or (argument == "seed" and default is REQUIRED)
        or (argument == "num_classes" and default is None)
    )
