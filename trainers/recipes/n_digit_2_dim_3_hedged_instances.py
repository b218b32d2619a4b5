"""Hedged instance embeddings, 2-digit MNIST, 3 dimensions."""

from trainers.recipes import n_digit


def get_config():
    return n_digit.hedged_instances(num_digits=2, dim=3)
