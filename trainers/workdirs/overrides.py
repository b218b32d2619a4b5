"""Overrides that lead from a recipe to another config of it."""

import dataclasses
import json

from trainers.config.flat import flat
from trainers.config.load import load_recipe
from trainers.config.run import Run
from trainers.workdirs.workdir import recipe_fields
from trainers.workdirs.workdir import resolved


def overrides(recipe: str, config: dict) -> dict:
    """Returns fields of `config` that differ from the recipe, by dotted name.

    A field that the recipe no longer has is left out, since it cannot be an
    override. A section that only the recipe has, such as `folds`, becomes its
    defaults: `folds.num_folds` is 0. An optional part becomes an empty name,
    such as `uncertainty.name`.
    """
    ours = flat(recipe_fields(load_recipe(recipe)))
    theirs = flat(resolved(config))
    theirs |= {n: v for n, v in _defaults().items() if n not in theirs}
    return {
        name: value
        for name, value in theirs.items()
        if name in ours and value != ours[name]
    }


def _defaults() -> dict:
    """Returns the fields that a config may leave out, by dotted name."""
    run = Run()
    sections = {
        **dataclasses.asdict(run.data),
        **dataclasses.asdict(run.training),
        "uncertainty": dataclasses.asdict(run.uncertainty),
    }
    return flat(json.loads(json.dumps(sections)))
