"""Learned distance with an additive-margin classifier, VoxCeleb."""

from trainers.recipes import voxceleb


def get_config():
    return voxceleb.learned_distance(auxiliary=True)
