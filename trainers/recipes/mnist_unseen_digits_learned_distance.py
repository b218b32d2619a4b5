"""Learned distance, digits of MNIST that were never trained on."""

from trainers.recipes import mnist


def get_config():
    return mnist.unseen_digits_learned_distance()
