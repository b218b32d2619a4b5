"""Binomial deviance loss, retrieval of held-out Sprites identities."""

from trainers.recipes import sprites


def get_config():
    return sprites.retrieval(
        {"name": "BinomialDevianceLoss"},
        learning_rate=5e-4,
        distance="cosine",
    )
