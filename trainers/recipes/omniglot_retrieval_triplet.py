"""Triplet loss, retrieval of held-out Omniglot characters."""

from trainers.recipes import omniglot


def get_config():
    return omniglot.retrieval(
        {"name": "TripletLoss", "margin": 0.1},
        learning_rate=1e-3,
        distance="l2",
    )
