"""Learned distance with an auxiliary softmax, ImageNet."""

from trainers.recipes import photographs


def get_config():
    return photographs.imagenet(photographs.learned_distance())
