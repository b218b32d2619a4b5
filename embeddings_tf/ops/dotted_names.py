"""Names the values of nested mappings."""

from collections.abc import Mapping
from typing import Any


def dotted_names(values: Mapping, prefix: str = "") -> dict[str, Any]:
    """Returns the values that are not mappings, as `outer.inner`."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= dotted_names(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found
