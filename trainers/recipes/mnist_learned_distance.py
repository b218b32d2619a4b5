"""Learned distance in a plane, all ten digits of MNIST: the picture."""

from trainers.recipes import mnist


def get_config():
    return mnist.plane()
