"""Checks the counts of an evaluation before the training."""


def require_at_least(section, **least: int) -> None:
    """Checks fields of the section `evaluation`.

    Args:
        section: The section.
        **least: The smallest valid value by the name of the field.

    Raises:
        ValueError: If a field is smaller.
    """
    for name, smallest in least.items():
        value = getattr(section, name)
        if value < smallest:
            raise ValueError(
                f"config.evaluation.{name} must be at least {smallest}; "
                f"received {value}"
            )
