"""Binomial deviance loss, retrieval of held-out Sprites identities."""

from trainers.recipes import sprites


def get_config():
    return sprites.retrieval(
        {"name": "BinomialDevianceLoss"},
        num_per_class=10,
        learning_rate=1e-4,
        distance="cosine",
    )
