"""Overrides that lead from a recipe to another config of it."""

from trainers.config import load_recipe
from trainers.workdir import recipe_fields
from trainers.workdir import resolved


def overrides(recipe: str, config: dict) -> dict:
    """Returns fields of `config` that differ from the recipe, by dotted name.

    A field that the recipe no longer has is left out, since it cannot be an
    override.
    """
    ours = _flat(recipe_fields(load_recipe(recipe)))
    theirs = _flat(resolved(config))
    return {
        name: value
        for name, value in theirs.items()
        if name in ours and value != ours[name]
    }


def _flat(fields: dict, prefix: str = "") -> dict:
    found = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found
