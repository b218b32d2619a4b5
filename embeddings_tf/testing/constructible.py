"""Checks that objects can be made, before all other checks."""

import functools
import inspect
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any


def constructible(
    make: Callable, arguments: Mapping[str, Any]
) -> functools.partial:
    """Returns a partial that needs no more arguments.

    Values for arguments without a default that `make` leaves out come from
    `arguments`.

    Raises:
        ValueError: If `make` is not a class or function, if `make` does not
            take one of `arguments`, or if an argument without a default has
            no value.
    """
    make = as_partial(make)
    called = make.func.__name__
    parameters, given = _parameters(make)
    names = [n for n, p in parameters.items() if p.kind != p.VAR_KEYWORD]
    unknown = [name for name in arguments if name not in names]
    if unknown and len(names) == len(parameters):
        raise ValueError(
            f"arguments contains {_listed(unknown)}, which {called} does not "
            f"take; it takes {_listed(names) or 'none'}"
        )
    required = [
        name
        for name in names
        if name not in given
        and parameters[name].default is inspect.Parameter.empty
    ]
    missing = [name for name in required if name not in arguments]
    if missing:
        values = ", ".join(f"{name!r}: ..." for name in missing)
        raise ValueError(
            f"{called} cannot be made without {_listed(missing)}; give values "
            f"in arguments={{{values}}}, or as functools.partial({called}, "
            f"{missing[0]}=...)"
        )
    make = functools.partial(make, **{n: arguments[n] for n in required})
    for tried in {}, dict(arguments):
        try:
            make(**tried)
        except Exception as error:
            raise ValueError(
                f"{called} cannot be made with arguments={tried}: "
                f"{type(error).__name__}: {error}"
            ) from error
    return make


def as_partial(make: Callable) -> functools.partial:
    """Returns a class, function or partial as a partial."""
    made = make if isinstance(make, functools.partial) else None
    function = make if made is None else made.func
    if not (isinstance(function, type) or inspect.isroutine(function)):
        raise ValueError(
            "make must be a class, or functools.partial of a class and its "
            f"arguments, since the checks make many objects; received {make!r}"
        )
    return functools.partial(make) if made is None else made


def check_rows(make: functools.partial, name: str, function: Callable) -> None:
    """Checks that a metric takes the arguments of `perfect` or `chance`.

    Raises:
        ValueError: If it does not, or the function does not return
            `(arguments, value, tolerance)`.
    """
    found = function() if callable(function) else function
    if not (
        isinstance(found, tuple)
        and len(found) == 3
        and isinstance(found[0], Mapping)
    ):
        raise ValueError(
            f"{name} must be a function that returns the arguments of "
            f"{make.func.__name__} by name, the expected value and a "
            f"tolerance; received {found!r}"
        )
    try:
        inspect.signature(make.func).bind(
            *make.args, **{**make.keywords, **found[0]}
        )
    except TypeError as error:
        raise ValueError(
            f"{make.func.__name__} does not take the arguments "
            f"{_listed(found[0])} of {name}: {error}; give the others with "
            f"functools.partial({make.func.__name__}, ...)"
        ) from error


def _parameters(make: functools.partial):
    """Returns parameters that can be given by name, and the given names."""
    function = make.func
    if isinstance(function, type):
        # The signature of __init__: for a subclass without its own __init__,
        # Python 3.11.2 shows Keras' __new__(*args, **kwargs).
        function = functools.partial(function.__init__, None)  # type: ignore[misc]
    signature = inspect.signature(function)
    try:
        given = signature.bind_partial(*make.args, **make.keywords)
        positional = signature.bind_partial(*make.args).arguments
    except TypeError as error:
        raise ValueError(
            f"{make.func.__name__} does not take the arguments of the "
            f"functools.partial: {error}"
        ) from error
    parameters = {
        name: parameter
        for name, parameter in signature.parameters.items()
        if name not in positional
        and parameter.kind
        not in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL)
    }
    return parameters, given.arguments


def _listed(names) -> str:
    return ", ".join(map(repr, names))
