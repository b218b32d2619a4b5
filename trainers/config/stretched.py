"""The schedule of a learning rate, for a training of another length."""

from trainers.config.flat import flat
from trainers.config.run import Run
from trainers.config.run_config import config_of


def stretched(run: Run, other: Run) -> dict:
    """Returns the lengths of a run's schedule in another training, by field.

    A decay and boundaries are stretched with the training. A warm-up keeps its
    length, and the decay after it ends at the same share of the training.

    Args:
        run: The run whose schedule is stretched.
        other: The run with another length, and possibly with another warm-up.
            Fields that it does not have are left out.

    Raises:
        ValueError: If the decay would end before the warm-up.
    """
    before, after = (
        flat({"optimizer": config_of(each)["optimizer"]})
        for each in (run, other)
    )
    own, wanted = (
        each.training.num_epochs * each.training.steps_per_epoch
        for each in (run, other)
    )

    def scaled(step) -> int:
        return max(1, round(step * wanted / own))

    found = {}
    for name, value in before.items():
        if name not in after:
            continue
        if name.endswith(".boundaries") and isinstance(value, list | tuple):
            found[name] = [scaled(step) for step in value]
        elif name.endswith("decay_steps") and isinstance(value, int | float):
            field = f"{name.removesuffix('decay_steps')}warmup_steps"
            end = scaled(value + (before.get(field) or 0))
            warmup = after.get(field) or 0
            if warmup >= end:
                raise ValueError(
                    f"config.{field} must be below {end}, where the decay ends "
                    f"in a training of {wanted} steps; received {warmup}; "
                    "train longer, or shorten the warm-up"
                )
            found[name] = end - warmup
    return found
