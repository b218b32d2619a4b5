"""Histogram loss on Sprites, with dropout of whole dimensions."""

from trainers.recipes import sprites


def get_config():
    return sprites.factor_oracle(
        {"name": "HistogramLoss"},
        num_per_value=10,
        learning_rate=1e-4,
        num_steps=12_000,
        dimension_dropout=sprites.DIMENSION_DROPOUT,
    )
