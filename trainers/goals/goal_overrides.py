"""Fields that a command sets, in the recipe of a goal."""

from embeddings_tf.datasets.own_data import is_own_data
from trainers.config.run import DataFields
from trainers.config.run import Division
from trainers.config.run import Run
from trainers.config.run_config import apply_override
from trainers.config.run_config import config_of
from trainers.config.run_config import run_from_config
from trainers.config.stretched import stretched
from trainers.workdirs.workdir import PLACE_FIELDS

# Sections that decide which examples there are, before a recipe is chosen.
_OF_EXAMPLES = ("label", "folds", "division")


def place_overrides(overrides: list[str]) -> list[str]:
    """Returns overrides of this machine, which are no part of a recipe."""
    return [o for o in overrides if _name(o) in PLACE_FIELDS]


def data_to_look_at(
    dataset: str, split: str, seed: int, overrides: list[str]
) -> Run:
    """Returns a run with only its data, for `look_at_data`.

    Args:
        dataset: Name of the data set.
        split: `classes` or `examples`: how data without splits is divided.
        seed: Random seed of the division.
        overrides: Fields of the command, `field=value`.
    """
    division = Division(split, seed if is_own_data(dataset) else 0)
    run = Run(data=DataFields(dataset=dataset, division=division))
    for override in overrides:
        first = _name(override).partition(".")[0]
        if first in PLACE_FIELDS or first in _OF_EXAMPLES:
            run = apply_override(run, override)
    return run


def with_overrides(
    config: dict, overrides: list[str], is_read_later: bool
) -> tuple[dict, Run]:
    """Returns the config of a goal with the fields of a command, and its run.

    Fields that follow from others do so unless they are set, too: the learning
    rate decays to the last step, and images have the size that the network
    takes.

    Args:
        config: The recipe of the goal, nested dictionaries.
        overrides: Fields of the command, `field=value`.
        is_read_later: Whether the data is images that are read when needed,
            and so can have another size.

    Raises:
        ValueError: If a field does not exist or has another type.
    """
    before = after = run_from_config(config)
    of_place = place_overrides(overrides)
    for override in overrides:
        if override not in of_place:
            after = apply_override(after, override)
    named = {_name(override) for override in overrides}
    for override in _following(before, after, named, is_read_later):
        after = apply_override(after, override)
    found = _merged(config, config_of(before), config_of(after))
    run = after
    for override in of_place:
        run = apply_override(run, override)
    return found, run


def _name(override: str) -> str:
    name = override.partition("=")[0]
    return name.removeprefix("data.").removeprefix("training.")


def _following(before: Run, after: Run, named: set[str], is_read_later: bool):
    """Yields overrides of the fields that follow from other fields."""
    for field, value in stretched(before, after).items():
        if field not in named:
            yield f"{field}={value}"
    # A loss that compares by the cosine is measured by the cosine.
    if after.method.arguments.get("distance") == "cosine":
        if getattr(after.evaluation, "distance", "cosine") != "cosine":
            if "evaluation.distance" not in named:
                yield "evaluation.distance=cosine"
    # The loss of a goal has nothing to do for a fixed encoder, without a head
    # that learns its value.
    if after.training.freeze_encoder and not after.uncertainty.name:
        is_set = any(".encoder_loss" in name for name in named)
        if after.method.arguments.get("encoder_loss") and not is_set:
            yield f"{after.method.kind}.encoder_loss=None"
    plda = getattr(after.evaluation, "plda", None)
    dim = after.encoder.arguments.get("dim")
    if plda and plda.num_dims and dim and dim < plda.num_dims:
        if "evaluation.plda.num_dims" not in named:
            yield f"evaluation.plda.num_dims={dim}"
    if not is_read_later:
        return
    shape = after.encoder.arguments.get("image_shape")
    size = after.data.images.size
    if after.data.backbone.network:
        if "images.size" not in named:
            yield "images.size=0"  # the network has its own image_shape
    elif shape is None:
        return
    elif "images.size" in named and "encoder.image_shape" not in named and size:
        yield f"encoder.image_shape={(size, size, shape[2])}"
    elif "images.size" not in named and shape[0] == shape[1]:
        if tuple(shape) != tuple(before.encoder.arguments["image_shape"]):
            yield f"images.size={shape[0]}"


def _merged(written: dict, before: dict, after: dict) -> dict:
    """Returns `written`, with the values in which `after` is not `before`."""
    found = {}
    for name in dict.fromkeys([*written, *after]):
        if name not in after:
            if name not in before:  # a default that the recipe states
                found[name] = written[name]
        elif name in before and before[name] == after[name]:
            if name in written:
                found[name] = written[name]
        elif isinstance(after[name], dict):
            found[name] = _merged(
                *(
                    old.get(name) if isinstance(old.get(name), dict) else {}
                    for old in (written, before)
                ),
                after[name],
            )
        else:
            found[name] = after[name]
    return found
