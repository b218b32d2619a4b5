"""Classes and functions of the user's own, in a file or a module."""

import functools
import importlib
import importlib.util
import inspect
import os
import pathlib
import re
import sys
from typing import Any

import keras

_NAME = re.compile(r"(.+\.py|[A-Za-z_][\w.]*):([A-Za-z_]\w*)")


def split_name(name: str) -> tuple[str, str] | None:
    """`FILE.py` or `MODULE`, and `NAME`, of both; None for other names."""
    found = _NAME.fullmatch(name)
    return found and (found.group(1), found.group(2))


def own_object(name: str) -> Any:
    """Returns the class or function of `FILE.py:NAME` or `MODULE:NAME`.

    A relative path starts in the current folder; `~` is the home folder. A file
    is run once in each process, and its Keras classes are registered, so that a
    model with them can be loaded.

    Raises:
        ValueError: If there is no such file, module or name, or the code
            cannot be run.
    """
    place, attribute = split_name(name) or (name, "")
    module = _module(place)
    if not callable(getattr(module, attribute, None)):
        known = [n for n, v in vars(module).items() if _is_own(v, module)]
        raise ValueError(
            f"{place} defines no class or function {attribute!r}; it has "
            f"{', '.join(known) or 'none'}"
        )
    return getattr(module, attribute)


def registered_names(name: str) -> dict[str, str]:
    """Registers the code of `FILE.py:NAME` or `MODULE:NAME` with Keras again.

    Other code may have taken the same names since it was run.

    Returns:
        The file of the code, by each name that Keras knows it by.

    Raises:
        ValueError: As `own_object`.
    """
    own_object(name)
    place, _ = split_name(name) or (name, "")
    module, path = _module(place), pathlib.Path(place)
    package = path.stem if path.suffix == ".py" else place
    file = getattr(module, "__file__", None) or place
    return dict.fromkeys(_register(module, package), file)


def _module(place):
    if place.endswith(".py"):
        return _of_file(pathlib.Path(os.path.expanduser(place)).absolute())
    return _of_module(place)


@functools.cache
def _of_file(path: pathlib.Path):
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    name = f"own_code_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look it up while it runs
    try:
        with _readable(path):
            # Not from a compiled file, which may be of an earlier content.
            code = compile(path.read_bytes(), path, "exec")
            exec(code, module.__dict__)
    except ValueError:
        del sys.modules[name]
        raise
    _register(module, path.stem)
    return module


@functools.cache
def _of_module(name: str):
    with _readable(name):
        module = importlib.import_module(name)
    _register(module, name)
    return module


class _readable:
    """Raises errors of the user's code as ValueError."""

    def __init__(self, place):
        self.place = place

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if isinstance(error, Exception):
            raise ValueError(
                f"{self.place} cannot be read: {kind.__name__}: {error}"
            ) from error


def _register(module, package: str) -> list[str]:
    """Registers what a model may contain, so that Keras can load it.

    Returns the names for Keras, `PACKAGE>NAME`. The code itself may have
    registered a class in another package.
    """
    found = []
    for value in vars(module).values():
        is_part = inspect.isfunction(value) or (
            inspect.isclass(value) and hasattr(value, "get_config")
        )
        # Keras saves a lambda as its code.
        if _is_own(value, module) and is_part and value.__name__ != "<lambda>":
            known = keras.saving.get_registered_name(value)
            own, _, name = known.rpartition(">")
            keras.saving.register_keras_serializable(own or package, name)(
                value
            )
            found.append(keras.saving.get_registered_name(value))
    return found


def _is_own(value, module) -> bool:
    return getattr(value, "__module__", "") == module.__name__ and callable(
        value
    )
