"""n-digit numbers: learning rate, and the constants that a loss leaves open.

For all `n_digit_*` recipes, so that every method of the table gets the same
search: the learning rate from 1e-3 to 1e-1, `beta` of hedged instances from
1e-6 to 1e-2, and the margin of the contrastive loss from 0.3 to 10. Other
losses have only the rate to choose. Give every method the same number of
trials.
"""

from tuning.fields import choose_learning_rate
from tuning.fields import set_field

CONSTANTS = {"objective.beta": (1e-6, 1e-2), "loss.margin": (0.3, 10.0)}


def space(hyperparameters, config):
    choose_learning_rate(hyperparameters, config, 1e-3, 1e-1)
    for name, (low, high) in CONSTANTS.items():
        section, field = name.split(".")
        if field in config.get(section, {}):
            value = hyperparameters.Float(name, low, high, sampling="log")
            set_field(config, name, value)
