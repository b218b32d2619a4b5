"""Triplet loss, the baseline of the learned distance, speakers of AN4."""

from trainers.recipes import an4


def get_config():
    return an4.triplet()
