"""Learned distance of the five speakers, over unseen words; a sanity check."""

from trainers.recipes import spoken_digit


def get_config():
    return spoken_digit.speakers()
