"""Stochastic prototypes: values that our copy of the paper has lost.

For recipes with a `StochasticPrototypes` and at least 35 examples of a class,
such as n-digit numbers: supports and queries must fit into a class. The space
contains:

- the number of supports and queries in a training episode;
- the learning rate and its schedule;
- the constant c of the initial noise variance num_support * c^(2 / dim);
- the parametrisation that keeps the noise variance positive;
- the sampler and its number of samples.

The probability of corruption is not searched: the validation images are
corrupted with the same probability, so the values could not be compared.
"""

from tuning.fields import choose
from tuning.fields import choose_learning_rate
from tuning.fields import set_field

GRID = {
    "batches.num_query": (5, 10, 15),
    "objective.noise_transform": ("softplus", "exp"),
    "objective.sampler": ("intersection", "naive"),
}
NUM_SAMPLES = {"intersection": [1, 2, 5], "naive": [20, 50]}


def space(hyperparameters, config):
    choose(hyperparameters, config, GRID)
    num_support = hyperparameters.Choice("num_support", [1, 5, 10, 20])
    set_field(config, "batches.num_support", num_support)
    set_field(config, "objective.num_support", num_support)
    choose_noise(hyperparameters, config, num_support)
    for sampler, numbers in NUM_SAMPLES.items():
        with hyperparameters.conditional_scope("objective.sampler", [sampler]):
            number = hyperparameters.Choice(f"{sampler}.num_samples", numbers)
            if number:
                config.objective.num_samples = number

    num_steps = config.steps_per_epoch * config.num_epochs
    decay = hyperparameters.Choice("decay", ["cosine", "halving"])
    config.optimizer.learning_rate = {"name": "CosineDecay"}
    config.optimizer.learning_rate.decay_steps = num_steps
    with hyperparameters.conditional_scope("decay", ["halving"]):
        num_halvings = hyperparameters.Choice("num_halvings", [2, 4, 8])
        if decay == "halving":
            config.optimizer.learning_rate = {
                "name": "ExponentialDecay",
                "decay_steps": max(1, num_steps // num_halvings),
                "decay_rate": 0.5,
                "staircase": True,
            }
    choose_learning_rate(hyperparameters, config, 3e-4, 3e-2)


def choose_noise(hyperparameters, config, num_support: int) -> None:
    """Draws the constant of the first noise variance of a class."""
    constant = hyperparameters.Choice("noise_constant", [0.001, 0.01, 0.1])
    config.objective.initial_noise_variance = num_support * constant ** (
        2 / config.encoder.dim
    )
