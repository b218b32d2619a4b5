"""Nested fields of a config by their dotted names."""


def flat(fields: dict, prefix: str = "") -> dict:
    """Returns the fields of a config by dotted name."""
    found = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = value
    return found
