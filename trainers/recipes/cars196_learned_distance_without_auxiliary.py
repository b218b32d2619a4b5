"""Learned distance alone, retrieval of new classes, Cars196."""

from trainers.recipes import photographs


def get_config():
    return photographs.retrieval(
        "cars196/disjoint_classes",
        num_images=8_054,
        auxiliary=False,
    )
