"""F-statistic loss, retrieval of held-out Sprites identities."""

from trainers.recipes import sprites


def get_config():
    return sprites.retrieval(
        {"name": "FStatisticLoss", "num_dims": 8},
        learning_rate=5e-4,
        distance="l2",
    )
