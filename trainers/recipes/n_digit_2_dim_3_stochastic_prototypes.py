"""Stochastic prototypes, 2-digit MNIST, 3 dimensions."""

from trainers.recipes import n_digit


def get_config():
    return n_digit.stochastic_prototypes(num_digits=2, dim=3)
