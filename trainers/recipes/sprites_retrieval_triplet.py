"""Triplet loss, retrieval of held-out Sprites identities."""

from trainers.recipes import sprites


def get_config():
    return sprites.retrieval(
        {"name": "TripletLoss", "margin": 0.1},
        learning_rate=5e-4,
        distance="l2",
    )
