"""Learned distance with an additive-margin classifier, CIFAR-10."""

from trainers.recipes import cifar10


def get_config():
    return cifar10.learned_distance()
