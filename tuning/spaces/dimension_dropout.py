"""Rate of dimension dropout, for recipes of `*_dimension_dropout`.

Dimension dropout is not in the paper, so its rate had to be chosen. Three
trials draw each rate once.
"""

from tuning.fields import choose

RATES = (0.08, 0.15, 0.3)


def space(hyperparameters, config):
    choose(hyperparameters, config, {"encoder.dimension_dropout": RATES})
