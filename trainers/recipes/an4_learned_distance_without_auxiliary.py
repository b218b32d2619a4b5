"""Learned distance alone, without the classifier, speakers of AN4."""

from trainers.recipes import an4


def get_config():
    return an4.learned_distance(auxiliary=False)
