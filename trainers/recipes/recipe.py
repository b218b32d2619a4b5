"""An entry of a table of recipes."""

import dataclasses
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A named training: a function that makes its config, and its values.

    Args:
        about: Description in one line.
        make: Function that returns an `ml_collections.ConfigDict`.
        values: The function's keyword arguments.

    Example:

    >>> recipe = Recipe("Triplet loss", speakers, {"method": TRIPLET})
    >>> config = recipe.config()
    """

    about: str
    make: Callable
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def config(self):
        """Returns a new, unlocked `ml_collections.ConfigDict`."""
        return self.make(**self.values)
