"""Any recipe: the learning rate alone, from 3e-4 to 3e-2.

For the `omniglot_*_shot_*` recipes, whose rate we do not know. Give
every method the same number of trials.
"""

from tuning.fields import choose_learning_rate


def space(hyperparameters, config):
    choose_learning_rate(hyperparameters, config, 3e-4, 3e-2)
