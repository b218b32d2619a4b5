"""F-statistic loss on Sprites, unnamed-factor oracle, twice as many batches."""

from trainers.recipes import sprites


def get_config():
    return sprites.factor_oracle(
        {"name": "FStatisticLoss", "num_dims": 2},
        num_per_value=5,
        learning_rate=2e-4,
        num_steps=16_000,
    )
