"""Stochastic prototypes, 3-digit MNIST, 3 dimensions."""

from trainers.recipes import n_digit


def get_config():
    return n_digit.stochastic_prototypes(num_digits=3, dim=3)
