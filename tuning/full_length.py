"""Overrides of a search, for trainings of the recipe's own length."""

from trainers.config.flat import flat
from trainers.config.load import read_run
from trainers.config.run_config import config_of
from trainers.config.stretched import stretched
from trainers.workdirs.workdir import PLACE_FIELDS
from trainers.workdirs.workdir import as_json

# Ends of the names of fields that set the length of a training.
LENGTHS = (
    "num_epochs",
    "steps_per_epoch",
    "patience",
    "boundaries",
    "decay_steps",
    "warmup_steps",
)


def kept_in_full(recipe: str, overrides: list[str]) -> list[str]:
    """Returns the overrides of a search that do not shorten its trainings.

    A length that the recipe does not have stays. A schedule that the overrides
    begin, by its name or its values, is stretched with the training.
    """
    own, short = read_run(recipe), read_run(recipe, overrides)
    fields = flat(config_of(own))
    given = {_name(override) for override in overrides}

    def is_kept(name: str) -> bool:
        section = name.rpartition(".")[0]
        begun_by = {f"{section}.name", f"{section}.values"}
        is_begun = not begun_by.isdisjoint(given)
        return is_begun or name not in fields or not name.endswith(LENGTHS)

    kept = [override for override in overrides if is_kept(_name(override))]
    full = read_run(recipe, kept)
    # A warm-up of the overrides shortens the recipe's own decay.
    lengths = stretched(own, full)
    for name, value in stretched(short, full).items():
        if name in given and is_kept(name):
            lengths[name] = value
    now = flat(as_json(full))
    changed = {n: value for n, value in lengths.items() if value != now[n]}
    return [
        *(override for override in kept if _name(override) not in changed),
        *(f"{name}={value}" for name, value in changed.items()),
    ]


def _name(override: str) -> str:
    return override.partition("=")[0].removeprefix("training.")


def kept_places(overrides: list[str]) -> list[str]:
    """Returns the overrides of folders and devices, which no recipe sets."""
    return [
        override
        for override in overrides
        if override.partition("=")[0].rpartition(".")[2] in PLACE_FIELDS
    ]


def to_full_length(short, full, overrides: list[str]) -> list[str]:
    """Returns overrides with which `best.py` trains for the recipe's length.

    Args:
        short: The winner's run.
        full: The run with the same values and the recipe's own length.
        overrides: Overrides of the search. The result includes overrides of
            folders and devices, which `best.py` does not set.
    """
    before, after = flat(as_json(short)), flat(as_json(full))
    return [
        *kept_places(overrides),
        *(f"{n}={value}" for n, value in after.items() if value != before[n]),
    ]
