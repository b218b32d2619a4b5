"""Overrides of a search, for trainings of the recipe's own length."""

from trainers.config.load import read_run
from trainers.config.run_config import config_of
from trainers.workdirs.numbers_by_name import numbers_by_name
from trainers.workdirs.workdir import PLACE_FIELDS

# Last parts of the names of fields that set the length of a training.
LENGTHS = (
    "num_epochs",
    "steps_per_epoch",
    "patience",
    "decay_steps",
    "warmup_steps",
)


def kept_in_full(recipe: str, overrides: list[str]) -> list[str]:
    """Returns the overrides of a search that do not shorten its trainings.

    A length that the recipe does not have stays. Only the steps of a decay that
    the overrides themselves begin are stretched with the training, so that the
    decay ends, after its warm-up, where it ended before.
    """
    own = numbers_by_name(config_of(read_run(recipe)))
    full, short = (
        run.training.num_epochs * run.training.steps_per_epoch
        for run in (read_run(recipe), read_run(recipe, overrides))
    )
    parts = [override.partition("=") for override in overrides]
    parts = [(n.removeprefix("training."), value) for n, _, value in parts]
    given, kept = dict(parts), []
    for override, (name, value) in zip(overrides, parts, strict=True):
        schedule, _, last = name.rpartition(".")
        begun = name not in own or f"{schedule}.name" in given
        if begun and last == "decay_steps":
            warmup = given.get(f"{schedule}.warmup_steps")
            warmup = float(warmup or own.get(f"{schedule}.warmup_steps") or 0)
            end = (float(value) + warmup) * full / short
            kept.append(f"{name}={round(end - warmup)}")
        elif begun or last not in LENGTHS:
            kept.append(override)
    return kept


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
    found = kept_places(overrides)
    # Fields that set a length are numbers.
    before, after = (
        numbers_by_name(config_of(short)),
        numbers_by_name(config_of(full)),
    )
    for name, value in after.items():
        if before[name] != value:
            found.append(f"{name}={value}")
    return found
