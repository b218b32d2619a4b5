"""Learned distance alone, without the classifier, VoxCeleb."""

from trainers.recipes import voxceleb


def get_config():
    return voxceleb.learned_distance(auxiliary=False)
