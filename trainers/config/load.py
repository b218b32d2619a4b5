"""Loads recipes: from `--config NAME` and overrides to a typed run."""

import difflib
import json
import pathlib
from collections.abc import Mapping

from trainers.config.own_code import run_file
from trainers.config.run import Run
from trainers.config.run_checks import check_run
from trainers.config.run_checks import require_effect
from trainers.config.run_config import apply_override
from trainers.config.run_config import run_from_config
from trainers.config.run_config import with_evaluation_of_data
from trainers.recipes import every_recipe
from trainers.terminal import command_names


def recipe_names() -> list[str]:
    """Returns the names of the recipes that ship with the package."""
    return list(every_recipe())


def load_recipe(recipe: str, overrides: list[str] = ()) -> Run:
    """Loads the run of a recipe and applies `field=value` overrides.

    Args:
        recipe: The name of a recipe in a table of `trainers/recipes`, the
            path of a Python file that defines `get_config()`, or the
            `config.json` of a workdir.
        overrides: Strings `field=value` or `field.inner=value`. Values are
            Python literals; anything else is text. `--help` with a recipe
            lists the fields.

    Raises:
        ValueError: For an unknown recipe or field, a value of the wrong type,
            or a run that cannot start.
    """
    run = read_run(recipe, overrides)
    check_run(run)
    require_effect(run, overrides)
    return run


def read_run(recipe: str, overrides: list[str] = ()) -> Run:
    """Like `load_recipe`, but accepts a run that cannot start."""
    run = run_from_config(_config(recipe))
    for override in overrides:
        run = apply_override(run, override)
    if any(word.partition("=")[0] == "evaluation.name" for word in overrides):
        return run  # `check_run` refuses one that does not fit the data
    return with_evaluation_of_data(run)


def _config(recipe: str) -> Mapping:
    if recipe in every_recipe():
        return every_recipe()[recipe].config()
    if recipe.endswith(".json"):
        found = _config_file(recipe)
        source = pathlib.Path(found["recipe"])
        if source.suffix == ".py" and source.is_file():
            _config(found["recipe"])  # it may define objects of the config
        return found["config"]
    get_config = load_function(
        recipe, None, "get_config", "recipe", _recipes_like(recipe)
    )
    config = _call(get_config, recipe)
    if not hasattr(config, "lock"):
        raise ValueError(
            f"get_config() of {recipe} must return an ml_collections."
            f"ConfigDict; it returned a {type(config).__name__}"
        )
    return config


def _recipes_like(name: str) -> list[str]:
    """Returns similar recipe names, and how to list all of them."""
    names = recipe_names()
    begun = [known for known in names if name and known.startswith(name)]
    found = begun[:5] or difflib.get_close_matches(name, names, 5)
    command = command_names.display_name("trainers.train")
    listed = f"the recipes of `{command} --list`"
    if len(begun) > len(found):
        listed += f", of which {len(begun)} begin with {name!r}"
    return [*found, listed]


def recipe_name(recipe: str) -> str:
    """Returns the recipe of a `config.json`; other names stay unchanged.

    Raises:
        ValueError: If the file is not a `config.json` of a workdir.
    """
    return (
        _config_file(recipe)["recipe"] if recipe.endswith(".json") else recipe
    )


def _config_file(path: str) -> dict:
    """Returns the contents of a workdir's `config.json`."""
    try:
        found = json.loads(pathlib.Path(path).read_bytes())
    except FileNotFoundError:
        raise ValueError(
            f"there is no file {path}; name the config.json of a workdir"
        ) from None
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not (
        isinstance(found, dict)
        and isinstance(found.get("config"), dict)
        and isinstance(found.get("recipe"), str)
    ):
        raise ValueError(
            f"{path} contains no config; name the config.json of a workdir"
        )
    return found


def _call(function, name: str, *arguments):
    """Calls a user's function; its errors become a ValueError."""
    try:
        return function(*arguments)
    except Exception as error:
        raise ValueError(
            f"{name} cannot be run: {type(error).__name__}: {error}"
        ) from error


def load_function(
    name: str,
    folder: pathlib.Path | None,
    function: str,
    kind: str,
    known: list[str],
):
    """Loads a function from a Python file, by path or by name in `folder`.

    Raises:
        ValueError: If the file does not exist, cannot be read, or does not
            define the function; the message contains `kind`.
    """
    path = pathlib.Path(name)
    is_file = path.suffix == ".py"
    if not is_file and folder is not None:
        path = folder / f"{name}.py"
    if not (is_file or path.suffix == ".py" and path.is_file()):
        raise ValueError(
            f"unknown {kind} {name!r}: it is neither a Python file nor one "
            f"of {', '.join(known)}"
        )
    module = run_file(path, f"{kind}_{path.stem}")
    if not hasattr(module, function):
        raise ValueError(
            f"{name} is not a {kind}: it defines no function {function}()"
        )
    return getattr(module, function)
