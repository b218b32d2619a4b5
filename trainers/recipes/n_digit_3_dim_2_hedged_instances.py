"""Hedged instance embeddings, 3-digit MNIST, 2 dimensions."""

from trainers.recipes import n_digit


def get_config():
    return n_digit.hedged_instances(num_digits=3, dim=2)
