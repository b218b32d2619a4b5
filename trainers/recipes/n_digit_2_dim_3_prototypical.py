"""Prototypical networks, 2-digit MNIST, 3 dimensions: the baseline."""

from trainers.recipes import n_digit


def get_config():
    return n_digit.prototypical(num_digits=2, dim=3)
