"""Any recipe: the learning rate alone, from 3e-4 to 3e-2.

For the `omniglot_*_shot_*` recipes, whose rate we do not know. Give
every method the same number of trials.
"""

from tuning.fields import set_learning_rate


def space(hyperparameters, config):
    rate = hyperparameters.Float(
        "optimizer.learning_rate", 3e-4, 3e-2, sampling="log"
    )
    set_learning_rate(config, rate)
