"""Contrastive loss, 3-digit MNIST, 2 dimensions: their baseline."""

from trainers.recipes import n_digit


def get_config():
    return n_digit.contrastive(num_digits=3, dim=2)
