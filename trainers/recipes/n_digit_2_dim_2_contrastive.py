"""Contrastive loss, 2-digit MNIST, 2 dimensions: their baseline."""

from trainers.recipes import n_digit


def get_config():
    return n_digit.contrastive(num_digits=2, dim=2)
