"""Names the values of nested mappings."""

from collections.abc import Iterator
from collections.abc import Mapping


def dotted_names(values: Mapping, prefix: str = "") -> Iterator[tuple]:
    """Yields each value that is not a mapping, after its name `outer.inner`."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from dotted_names(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
