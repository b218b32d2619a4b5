"""Triplet loss, the baseline of the learned distance, ImageNet."""

from trainers.recipes import photographs


def get_config():
    return photographs.imagenet(photographs.triplet())
