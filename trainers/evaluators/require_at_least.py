"""Checks the counts of an evaluation before the training."""


def require_at_least(section, /, where="evaluation", **least: int) -> None:
    """Checks fields of the section `evaluation`, or of a section inside it.

    Args:
        section: The section.
        where: Its name in the recipe.
        **least: The smallest valid value by the name of the field.

    Raises:
        ValueError: If a field is smaller.
    """
    for name, smallest in least.items():
        value = getattr(section, name)
        if value < smallest:
            raise ValueError(
                f"config.{where}.{name} must be at least {smallest}; "
                f"received {value}"
            )
