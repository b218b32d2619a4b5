"""Keeps fields of overrides in every trial, also if the space draws them."""

from collections.abc import Mapping
from collections.abc import Sequence

from trainers.config.run import Run
from trainers.config.run_config import config_of

MISSING = object()
# Values that keras-tuner can keep.
FIXED = (bool, int, float, str)
# Draws at both ends of each range.
ENDS = (0.0, 1 - 1e-9)


def fixed_fields(run: Run, make_run, overrides: Sequence[str]) -> dict:
    """Returns the values of the overrides that a space draws, by field.

    Args:
        run: The recipe with its overrides.
        make_run: The space: a function from `keras_tuner.HyperParameters` to a
            run.
        overrides: `field=value`, as for `tuning.search`.

    Raises:
        ValueError: If the space would give the field of an override another
            value, which cannot be kept, or if it makes no run with them. It is
            tried at both ends of the ranges of all other values.
    """
    names = [
        override.partition("=")[0].removeprefix("training.")
        for override in overrides
    ]
    given = {name: _place(run, name) for name in names}
    fixed = {
        found.name: given[found.name][1]
        for found in _drawn(make_run, {}).space
        if found.name in given and isinstance(given[found.name][1], FIXED)
    }
    made_runs = [_made(make_run, fixed, end) for end in ENDS]
    if all(isinstance(made, ValueError) for made in made_runs):
        raise made_runs[0]
    for made in made_runs:
        if isinstance(made, ValueError):  # a trial with these values fails
            continue
        for name, (section, value) in given.items():
            new_section, new = _place(made, name)
            if new_section == section and new != value:
                raise ValueError(
                    f"the space sets config.{name} to {new!r}, so "
                    f"--config.{name}={value} would have no effect; leave it "
                    "out, or give a --space of your own that does not set it"
                )
    return fixed


def _made(make_run, fixed: dict, end: float) -> Run | ValueError:
    """Returns the run of one end of all draws, or why there is none."""
    try:
        return make_run(_drawn(make_run, fixed, end))
    except ValueError as error:
        return error


def _place(run: Run, name: str) -> tuple:
    """Returns the name of the object that has a field, and its value.

    A space may draw another object, such as another schedule of the learning
    rate. The overrides are not about its fields.
    """
    found, value = None, config_of(run)
    for part in name.split("."):
        found = value.get("name") if isinstance(value, Mapping) else MISSING
        is_there = isinstance(value, Mapping) and part in value
        value = value[part] if is_there else MISSING
    return found, value


def _drawn(make_run, fixed: dict, end: float | None = None):
    """Returns hyperparameters with fixed values, and one end of all others."""
    import keras_tuner

    found = keras_tuner.HyperParameters()
    for name, value in fixed.items():
        found.Fixed(name, value)
    if end is None:
        make_run(found)
        return found
    for each in _drawn(make_run, fixed).space:
        if each.name not in fixed:
            found.values[each.name] = each.prob_to_value(end)
    return found
