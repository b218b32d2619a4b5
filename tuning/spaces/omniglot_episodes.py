"""Omniglot with stochastic prototypes: values that our copy has lost.

For `omniglot_*_shot_*_stochastic_prototypes`, whose classes have 20 examples.
The space contains:

- the number of classes and of queries in a training episode;
- the constant c of the initial noise variance num_support * c^(2 / dim);
- the parametrisation that keeps the noise variance positive.

The number of supports is the task's. The space `learning_rate` searches the
learning rate.
"""

from tuning.fields import choose
from tuning.spaces.stochastic_prototypes import choose_noise

GRID = {
    "batches.num_classes": (20, 40, 60),
    "batches.num_query": (5, 10),
    "objective.noise_transform": ("softplus", "exp"),
}


def space(hyperparameters, config):
    choose(hyperparameters, config, GRID)
    choose_noise(hyperparameters, config, config.batches.num_support)
