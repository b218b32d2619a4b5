"""A field of a run: its default and its help."""

import dataclasses
from collections.abc import Mapping


def field(default, help: str):
    """A dataclass field with a default and one line of help.

    Args:
        default: The value if a recipe does not set the field.
        help: Meaning of the field, for `--help`.
    """
    metadata = {"help": help}
    if isinstance(default, Mapping):
        return dataclasses.field(
            default_factory=lambda: dict(default), metadata=metadata
        )
    return dataclasses.field(default=default, metadata=metadata)
