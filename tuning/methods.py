"""The values of each method that a search draws, one table for all spaces."""

from trainers.config.places import METHODS
from tuning.fields import choose
from tuning.fields import choose_distance
from tuning.fields import choose_learning_rate
from tuning.fields import set_field

# From the lowest to the highest value, on a logarithmic scale. Fields are below
# the section of the method: `loss`, `objective`, `objective.encoder_loss` etc.
RANGES = {
    "TripletLoss": {"margin": (0.03, 1.0)},
    "ContrastiveLoss": {"margin": (0.3, 10.0)},
    "LiftedStructureLoss": {"margin": (0.3, 10.0)},
    "BinomialDevianceLoss": {
        "scale": (1.0, 10.0),
        "negative_cost": (1.0, 50.0),
    },
    "HedgedInstances": {"beta": (1e-6, 1e-2)},
    "BetaVAE": {"beta": (0.5, 16.0)},
}
CHOICES = {
    "TripletLoss": {"mining": ("all", "hard")},
    "BinomialDevianceLoss": {"threshold": (0.3, 0.5, 0.7)},
    "HistogramLoss": {"num_nodes": (51, 101, 201)},
    "StochasticPrototypes": {"noise_transform": ("softplus", "exp")},
}
# The paper chose 2 of 22 dimensions, and 3, 63 and 70 of 500. See `num_dims`.
SHARES_OF_DIMS = (0.01, 0.03, 0.1, 0.2, 0.5, 1.0)
NUM_PER_CLASS = (3, 5, 10)  # divide 30 and 60


def choose_class_batches(hyperparameters, config, num_examples: int) -> None:
    """Draws the examples of a class; a batch has `num_examples` in all.

    Half of the examples of a class are supports, for methods that have them.

    Raises:
        ValueError: If a number that an override keeps does not divide
            `num_examples` into at least two classes.
    """
    number = hyperparameters.Choice(
        "batches.num_per_class", list(NUM_PER_CLASS)
    )
    if number < 1 or num_examples % number or num_examples < 2 * number:
        raise ValueError(
            f"config.batches.num_per_class must divide {num_examples}, the "
            f"examples of a batch, into at least two classes; received {number}"
        )
    set_field(config, "batches.num_per_class", number)
    set_field(config, "batches.num_classes", num_examples // number)
    section, _ = _method(config)
    if "num_support" in config[section]:
        set_field(config, f"{section}.num_support", number // 2)


def choose_constants(hyperparameters, config) -> None:
    """Draws the learning rate, and the constants that the method leaves open.

    The rate is between 1e-4 and 1e-2 for every method. Methods without
    constants, such as `PrototypicalLoss`, have the rate alone. A learned
    distance also has the constants of its `encoder_loss`. Set `encoder.dim`
    first: `num_dims` of the F-statistic loss is a share of it.
    """
    choose_learning_rate(hyperparameters, config, 1e-4, 1e-2)
    section, name = _method(config)
    if name == "LearnedDistance":
        _choose_learned_distance(hyperparameters, config)
    else:
        _choose_fields(hyperparameters, config, section, name)


def _choose_fields(hyperparameters, config, section: str, name: str) -> None:
    """Draws the constants of a method whose fields are below `section`."""
    for field, (low, high) in RANGES.get(name, {}).items():
        field = f"{section}.{field}"
        value = hyperparameters.Float(field, low, high, sampling="log")
        set_field(config, field, value)
    choices = CHOICES.get(name, {}).items()
    grid = {f"{section}.{field}": values for field, values in choices}
    choose(hyperparameters, config, grid)
    if name == "FStatisticLoss":
        share = hyperparameters.Choice("share_of_dims", list(SHARES_OF_DIMS))
        number = num_dims(share, config.encoder.dim)
        set_field(config, f"{section}.num_dims", number)


def num_dims(share: float, dim: int) -> int:
    """Returns `num_dims` for a share of `SHARES_OF_DIMS`.

    The k-th share has at least k dimensions, so shares of few dimensions do not
    coincide: 1, 2, 3, 4, 11 and 22 of 22.
    """
    least = SHARES_OF_DIMS.index(share) + 1
    return min(dim, max(least, round(share * dim)))


def _choose_learned_distance(hyperparameters, config) -> None:
    """Draws what can change the score that chooses the trial.

    A distance that does not train the encoder cannot change the cosine. Label
    smoothing also concerns the classifier.
    """
    objective = config.objective
    is_idle = (
        not objective.get("train_encoder", True)
        and config.get("validation", {}).get("score") == "cosine"
    )
    if not is_idle or objective.get("auxiliary"):
        grid = {"objective.label_smoothing": (0.0, 0.05, 0.1, 0.2)}
        choose(hyperparameters, config, grid)
    if not is_idle:
        grid = {"objective.distance.dropout": (0.0, 0.1, 0.2)}
        choose(hyperparameters, config, grid)
        choose_distance(
            hyperparameters, config, num_layers=(2, 3, 4), num_units=(128, 256)
        )
    if objective.get("encoder_loss"):
        section, name = "objective.encoder_loss", objective.encoder_loss.name
        _choose_fields(hyperparameters, config, section, name)


def method_name(config) -> str:
    """Returns the name of the loss, objective or autoencoder of a config.

    Raises:
        ValueError: If the config has none of them.
    """
    return _method(config)[1]


def _method(config) -> tuple[str, str]:
    for section in METHODS:
        if section in config:
            return section, config[section].name
    raise ValueError(
        "the recipe has no section loss, objective or autoencoder; choose "
        "another --config"
    )
