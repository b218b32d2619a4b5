"""Sets fields of a recipe to hyperparameters, for use in spaces."""

from collections.abc import Mapping
from collections.abc import Sequence


def set_field(config, name: str, value) -> None:
    """Sets `section.field` of a config; the sections must exist.

    A space may add a field that the recipe leaves at its default. It may not
    add a section, because such a recipe is of another kind.

    Raises:
        ValueError: If the recipe has no such section.
    """
    *sections, field = name.split(".")
    for depth, section in enumerate(sections):
        if section not in config or not hasattr(config[section], "keys"):
            raise ValueError(
                f"the recipe has no section {'.'.join(sections[: depth + 1])}"
                f", which the space sets {name} in; choose another --space"
            )
        config = config[section]
    config[field] = value


def choose(hyperparameters, config, grid: Mapping[str, Sequence]) -> None:
    """Draws one of the values for each field of a grid `{field: values}`."""
    for name, values in grid.items():
        set_field(config, name, _draw(hyperparameters, name, list(values)))


def _draw(hyperparameters, name: str, values: list):
    if not values:
        raise ValueError(f"the grid has no value of {name}; give at least one")
    if all(isinstance(value, bool) for value in values):
        # A Choice would make integers of them.
        if len(set(values)) == 2:
            return hyperparameters.Boolean(name, default=values[0])
        return hyperparameters.Fixed(name, values[0])
    return hyperparameters.Choice(name, values)


def choose_published(
    hyperparameters,
    config,
    grid: Mapping[str, Sequence],
    num_layers: Sequence,
    num_units: Sequence,
) -> None:
    """Draws from a grid of Monteiro et al. 2020, also for their baseline.

    For the baseline, the triplet loss, the margin replaces the fields of the
    distance. With a classifier, as in the paper, its label smoothing and kind
    are searched, too.
    """
    margin = "loss.margin"
    if "objective" in config:
        if config.objective.get("train_encoder", True):
            choose(hyperparameters, config, grid)
            choose_distance(hyperparameters, config, num_layers, num_units)
            return
        margin = "objective.encoder_loss.margin"
    left_out = "objective." + "distance." * ("objective" in config)
    shared = {n: v for n, v in grid.items() if not n.startswith(left_out)}
    choose(hyperparameters, config, shared)
    # As published.
    set_field(config, margin, hyperparameters.Float(margin, 0.1, 1.0))


def choose_learning_rate(
    hyperparameters, config, low: float, high: float
) -> None:
    """Draws the learning rate on a logarithmic scale."""
    rate = hyperparameters.Float(
        "optimizer.learning_rate", low, high, sampling="log"
    )
    set_learning_rate(config, rate)


def set_learning_rate(config, value: float) -> None:
    """Sets the learning rate, of a schedule the largest one."""
    name = "optimizer.learning_rate"
    schedule = config.optimizer.learning_rate
    if not hasattr(schedule, "keys"):
        set_field(config, name, value)
    elif "boundaries" in schedule:
        rates = schedule["values"]  # a ConfigDict also has a method values
        rates = tuple(value / max(rates) * rate for rate in rates)
        set_field(config, f"{name}.values", rates)
    elif "warmup_steps" in schedule and "scale" in schedule:
        scale = value * schedule.warmup_steps**0.5
        set_field(config, f"{name}.scale", scale)
    elif schedule.get("warmup_target") is not None:
        set_field(config, f"{name}.warmup_target", value)
    else:
        set_field(config, f"{name}.initial_learning_rate", value)


def choose_distance(
    hyperparameters, config, num_layers: Sequence, num_units: Sequence
) -> None:
    """Draws number and width of the hidden layers of the learned distance."""
    layers = hyperparameters.Choice("distance.num_layers", list(num_layers))
    units = hyperparameters.Choice("distance.num_units", list(num_units))
    set_field(config, "objective.distance.hidden_units", (units,) * layers)
