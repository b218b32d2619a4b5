"""Makes the objects that the parts of a run name."""

import importlib

from trainers.config.own_code import file_and_name
from trainers.config.own_code import own_object
from trainers.config.own_code import require_saved_arguments
from trainers.config.places import PLACES
from trainers.config.places import place_of
from trainers.config.run import Part
from trainers.config.run_fields import with_defaults
from trainers.config.signatures import signature


def build(part: Part, field: str, *leading, **extra):
    """Makes the object of a part of a run.

    Args:
        part: Name and arguments. Arguments that are parts are made, too.
        field: The field of the run that contains the part; it determines the
            modules in which the name is searched.
        *leading: Positional arguments before the arguments of the part.
        **extra: More arguments.

    Raises:
        ValueError: If the name does not exist, or has other arguments.
    """
    function = _named(part.name, PLACES[place_of(part, field)])
    arguments = {
        name: build(value, name) if isinstance(value, Part) else value
        for name, value in part.arguments.items()
    }
    try:
        made = function(*leading, **arguments, **extra)
    except TypeError as error:
        raise ValueError(f"{part.name}: {error}") from error
    # With defaults, as in `config.json`, so that no later command refuses it.
    saved = with_defaults(part, field).arguments
    require_saved_arguments(made, part.name, saved)
    return made


def _named(name: str, places: tuple[str, ...]):
    """The class or function of that name."""
    if file_and_name(name):
        return own_object(name)
    modules = [importlib.import_module(place) for place in places]
    for module in modules:
        if name in _own(module):
            return getattr(module, name)
    known = [known for module in modules for known in _own(module)]
    raise ValueError(
        f"{' and '.join(places)} has no {name!r}; it has {', '.join(known)}"
    )


def _own(module) -> list[str]:
    """Names of classes and functions that a module defines, not imports."""
    return getattr(module, "__all__", None) or [
        name
        for name in dir(module)
        if not name.startswith("_") and callable(getattr(module, name))
    ]


def argument_of(part: Part, field: str, argument: str):
    """Returns an argument of a part, or its default."""
    if argument in part.arguments:
        return part.arguments[argument]
    return signature(PLACES[field], part.name).arguments[argument].default
