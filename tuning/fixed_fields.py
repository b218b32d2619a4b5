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
    import keras_tuner

    names = [
        override.partition("=")[0].removeprefix("training.")
        for override in overrides
    ]
    given = {name: _place(run, name) for name in names}
    drawn = keras_tuner.HyperParameters()
    make_run(drawn)
    fixed = {
        found.name: given[found.name][1]
        for found in drawn.space
        if found.name in given and isinstance(given[found.name][1], FIXED)
    }
    made_runs = [
        _made(
            make_run,
            {n.name: n.prob_to_value(end) for n in drawn.space} | fixed,
        )
        for end in ENDS
    ]
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


def _made(make_run, values: dict) -> Run | ValueError:
    """Returns the run of some values, or why there is none."""
    import keras_tuner

    hyperparameters = keras_tuner.HyperParameters()
    hyperparameters.values = values
    try:
        return make_run(hyperparameters)
    except ValueError as error:
        return error


def _place(run: Run, name: str) -> tuple:
    """Returns the name of the object that has a field, and its value.

    A space may draw another object, such as another schedule of the learning
    rate. The overrides are not about its fields.
    """
    found, value = None, config_of(run)
    for part in name.split("."):
        section = value if isinstance(value, Mapping) else {}
        if part != "name":  # the name is itself what an override sets
            found = section.get("name")
        value = section.get(part, MISSING)
    return found, value
