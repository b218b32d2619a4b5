"""Checks the arguments of a command that is called as a function."""

import functools
import inspect
import numbers
import operator
import os
import types
import typing
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence


def checked_arguments(**choices: Sequence[str]) -> Callable:
    """Decorates a function that refuses what a command line cannot contain.

    The annotations say what each argument may be. Paths become strings, and
    sequences become lists. TensorFlow is not imported.

    Args:
        **choices: The only values of an argument, by its name.

    Returns:
        The decorator. Its functions raise ValueError for other arguments.
    """

    def decorate(function):
        signature = inspect.signature(function, eval_str=True)

        @functools.wraps(function)
        def checked(*arguments, **options):
            given = signature.bind(*arguments, **options)
            for name, value in given.arguments.items():
                kind = signature.parameters[name].annotation
                value = _checked(name, value, kind)
                if value is not None and name in choices:
                    _require_choice(name, value, choices[name])
                given.arguments[name] = value
            return function(*given.args, **given.kwargs)

        return checked

    return decorate


def _checked(name: str, value, kind):
    if isinstance(kind, types.UnionType):  # a kind, or None
        if value is None:
            return None
        kind, _ = typing.get_args(kind)
    if typing.get_origin(kind) in (list, Sequence):
        return _list(name, value, *typing.get_args(kind))
    return CHECKS[kind](name, value)


def _list(name: str, value, kind) -> list:
    is_path = isinstance(value, str | bytes | os.PathLike)
    is_one = is_path or getattr(value, "ndim", 1) == 0
    if is_one or not isinstance(value, Iterable):
        one = os.fsdecode(value) if is_path else value
        right = [] if value is None else [one]
        raise ValueError(
            f"{name} must be a list; received {one!r}; write {right!r}"
        )
    return [
        _checked(f"{name}[{place}]", entry, kind)
        for place, entry in enumerate(value)
    ]


def _text(name: str, value) -> str:
    if not isinstance(value, str | os.PathLike):
        raise ValueError(
            f"{name} must be a string or a path; received {value!r}"
        )
    return str(os.fsdecode(value))


def _whole_number(name: str, value) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number; received {value!r}")
    return number


def _number(name: str, value):
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise ValueError(f"{name} must be a number; received {value!r}")
    return value


def _truth(name: str, value) -> bool:
    if getattr(value, "ndim", 0) or value not in (0, 1):
        raise ValueError(f"{name} must be True or False; received {value!r}")
    return bool(value)


def _require_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, choices))}; received "
            f"{value!r}"
        )


CHECKS: dict[type, Callable] = {
    str: _text,
    int: _whole_number,
    float: _number,
    bool: _truth,
}
