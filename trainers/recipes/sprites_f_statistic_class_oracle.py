"""F-statistic loss on Sprites, class oracle."""

from trainers.recipes import sprites


def get_config():
    return sprites.class_oracle(
        {"name": "FStatisticLoss", "num_dims": 2},
        num_per_class=5,
        learning_rate=2e-4,
        num_steps=4_000,
    )
