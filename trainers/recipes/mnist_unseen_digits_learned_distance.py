"""Learned distance, digits of MNIST that were never trained on."""

from trainers.recipes import mnist
from trainers.recipes.learned_distance import OBJECTIVE


def get_config():
    config = mnist.unseen_digits()
    config.objective = OBJECTIVE
    return config
