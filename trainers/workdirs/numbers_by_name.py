"""Numbers of nested results by their dotted names."""


def numbers_by_name(results: dict, prefix: str = "") -> dict[str, float]:
    """Returns the numbers of nested results as `outer.inner`, without lists."""
    found = {}
    for name, value in results.items():
        if isinstance(value, dict):
            found |= numbers_by_name(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[prefix + name] = value
    return found
