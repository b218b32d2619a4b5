"""Prototypical networks, 2-digit MNIST, 2 dimensions, the paper's schedule.

As `n_digit_2_dim_2_prototypical`, with the learning rate halved
every 1,600 episodes instead of cosine decay: run to choose between the two on
validation data.
"""

from trainers.recipes import n_digit
from trainers.recipes.learning_rates import halving


def get_config():
    config = n_digit.prototypical(num_digits=2, dim=2)
    config.optimizer.learning_rate = halving(1e-2, every=1600)
    return config
