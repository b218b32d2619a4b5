"""Triplet loss, the baseline of the learned distance, spoken digits."""

from trainers.recipes import spoken_digit


def get_config():
    return spoken_digit.triplet()
