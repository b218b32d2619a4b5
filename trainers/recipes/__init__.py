"""Recipes: one file per experiment, each with a table `RECIPES`."""

import functools
import importlib
import pkgutil

from trainers.recipes.recipe import Recipe


@functools.cache
def every_recipe() -> dict[str, Recipe]:
    """Returns all tables as one, sorted by name."""
    found = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        found |= getattr(importlib.import_module(module.name), "RECIPES", {})
    return dict(sorted(found.items()))
