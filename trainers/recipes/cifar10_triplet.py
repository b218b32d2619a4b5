"""Triplet loss, the baseline of the learned distance, CIFAR-10."""

from trainers.recipes import cifar10


def get_config():
    return cifar10.triplet()
