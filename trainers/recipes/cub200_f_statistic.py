"""F-statistic loss on CUB-200-2011, the released settings."""

from trainers.recipes import birds


def get_config():
    return birds.cub200(
        {"name": "FStatisticLoss", "num_dims": 3},
        num_per_class=4,
        learning_rate=3e-4,
        distance="l2",
        patience=20,
    )
