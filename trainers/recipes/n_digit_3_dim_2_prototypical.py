"""Prototypical networks, 3-digit MNIST, 2 dimensions: the baseline."""

from trainers.recipes import n_digit


def get_config():
    return n_digit.prototypical(num_digits=3, dim=2)
