"""F-statistic loss: number of dimensions and learning rate.

For recipes with an `FStatisticLoss`. The paper chose the number of dimensions
on the validation part of the first fold: 2 of 22 for Sprites, 70 and 63 of 500
for persons, 3 of 500 for birds. The learning rates of its released code lie
between 1e-4 and 3e-4.
"""

from tuning.fields import choose_learning_rate
from tuning.fields import set_field

NUM_DIMS = (1, 2, 3, 5, 7, 11, 16, 22, 30, 50, 70, 100, 200, 500)


def space(hyperparameters, config):
    possible = [n for n in NUM_DIMS if n <= config.encoder.dim]
    num_dims = hyperparameters.Choice("loss.num_dims", possible)
    set_field(config, "loss.num_dims", num_dims)
    choose_learning_rate(hyperparameters, config, 3e-5, 3e-3)
