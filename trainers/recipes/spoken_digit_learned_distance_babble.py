"""Learned distance with a classifier, spoken digits also before babble."""

from trainers.recipes import spoken_digit


def get_config():
    return spoken_digit.learned_distance_babble()
