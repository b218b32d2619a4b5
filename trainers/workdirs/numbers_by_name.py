"""Numbers of nested results by their dotted names."""

from trainers.config.flat import flat


def numbers_by_name(results: dict) -> dict[str, float]:
    """Returns the numbers of nested results as `outer.inner`, without lists."""
    return {
        name: value
        for name, value in flat(results).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
