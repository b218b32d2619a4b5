"""Learned distance alone, without the classifier, spoken digits."""

from trainers.recipes import spoken_digit


def get_config():
    return spoken_digit.learned_distance(auxiliary=False)
