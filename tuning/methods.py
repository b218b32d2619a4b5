"""The values of each method that a search draws, one table for all spaces."""

from tuning.fields import choose_distance
from tuning.fields import set_field
from tuning.fields import set_learning_rate

# From the lowest to the highest value, on a logarithmic scale.
RANGES = {
    "TripletLoss": {"loss.margin": (0.03, 1.0)},
    "ContrastiveLoss": {"loss.margin": (0.3, 10.0)},
    "LiftedStructureLoss": {"loss.margin": (0.3, 10.0)},
    "BinomialDevianceLoss": {
        "loss.scale": (1.0, 10.0),
        "loss.negative_cost": (1.0, 50.0),
    },
    "HedgedInstances": {"objective.beta": (1e-6, 1e-2)},
    "BetaVAE": {"autoencoder.beta": (0.5, 16.0)},
}
CHOICES = {
    "TripletLoss": {"loss.mining": ("all", "hard")},
    "BinomialDevianceLoss": {"loss.threshold": (0.3, 0.5, 0.7)},
    "HistogramLoss": {"loss.num_nodes": (51, 101, 201)},
    "LearnedDistance": {
        "objective.label_smoothing": (0.0, 0.05, 0.1, 0.2),
        "objective.distance.dropout": (0.0, 0.1, 0.2),
    },
    "StochasticPrototypes": {
        "objective.noise_transform": ("softplus", "exp"),
    },
}
# The paper chose 2 of 22 dimensions, and 3, 63 and 70 of 500.
SHARES_OF_DIMS = (0.01, 0.03, 0.1, 0.2, 0.5, 1.0)
SECTIONS = ("loss", "objective", "autoencoder")


def choose_constants(hyperparameters, config) -> None:
    """Draws the learning rate, and the constants that the method leaves open.

    The rate is between 1e-4 and 1e-2 for every method. Methods without
    constants, such as `PrototypicalLoss`, have the rate alone. Set
    `encoder.dim` first: `num_dims` of the F-statistic loss is a share of it.
    """
    rate = hyperparameters.Float(
        "optimizer.learning_rate", 1e-4, 1e-2, sampling="log"
    )
    set_learning_rate(config, rate)
    name = method_name(config)
    for field, (low, high) in RANGES.get(name, {}).items():
        value = hyperparameters.Float(field, low, high, sampling="log")
        set_field(config, field, value)
    for field, values in CHOICES.get(name, {}).items():
        value = hyperparameters.Choice(field, list(values))
        set_field(config, field, value)
    if name == "FStatisticLoss":
        share = hyperparameters.Choice("share_of_dims", list(SHARES_OF_DIMS))
        num_dims = max(1, round(share * config.encoder.dim))
        set_field(config, "loss.num_dims", num_dims)
    if name == "LearnedDistance":
        choose_distance(
            hyperparameters, config, num_layers=(2, 3, 4), num_units=(128, 256)
        )


def method_name(config) -> str:
    """Returns the name of the loss, objective or autoencoder of a config.

    Raises:
        ValueError: If the config has none of them.
    """
    for section in SECTIONS:
        if section in config:
            return config[section].name
    raise ValueError(
        "the recipe has no section loss, objective or autoencoder; choose "
        "another --config"
    )
