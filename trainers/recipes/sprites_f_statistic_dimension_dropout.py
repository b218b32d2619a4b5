"""F-statistic loss on Sprites, with dropout of whole dimensions."""

from trainers.recipes import sprites


def get_config():
    config = sprites.factor_oracle(
        {"name": "FStatisticLoss", "num_dims": 2},
        num_per_value=5,
        learning_rate=2e-4,
        num_steps=16_000,
    )
    config.encoder.dimension_dropout = sprites.DIMENSION_DROPOUT
    return config
