"""Overrides that lead from a recipe to another config of it."""

from trainers.config import load_recipe
from trainers.run_checks import OPTIONAL_PARTS
from trainers.workdir import recipe_fields
from trainers.workdir import resolved


def overrides(recipe: str, config: dict) -> dict:
    """Returns fields of `config` that differ from the recipe, by dotted name.

    A field that the recipe no longer has is left out, since it cannot be an
    override. An optional part that only the recipe has is an empty name, such
    as `uncertainty.name`.
    """
    ours = flat(recipe_fields(load_recipe(recipe)))
    theirs = flat(resolved(config))
    left_out = [f"{part}.name" for part in OPTIONAL_PARTS]
    theirs |= {n: "" for n in left_out if n in ours and n not in theirs}
    return {
        name: value
        for name, value in theirs.items()
        if name in ours and value != ours[name]
    }


def flat(fields: dict, prefix: str = "") -> dict:
    """Returns the fields of a config by dotted name."""
    found = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found
