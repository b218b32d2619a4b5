"""F-statistic loss on Sprites, with dropout of whole dimensions."""

from trainers.recipes import sprites
from trainers.recipes import sprites_f_statistic


def get_config():
    config = sprites_f_statistic.get_config()
    config.encoder.dimension_dropout = sprites.DIMENSION_DROPOUT
    return config
