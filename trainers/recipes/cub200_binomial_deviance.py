"""Binomial deviance loss on CUB-200-2011, the released settings."""

from trainers.recipes import birds


def get_config():
    return birds.cub200(
        {
            "name": "BinomialDevianceLoss",
            "form": "authors",
            "negative_cost": 25.0,
        },
        num_per_class=10,
        learning_rate=1e-4,
        distance="cosine",
        patience=20,
    )
