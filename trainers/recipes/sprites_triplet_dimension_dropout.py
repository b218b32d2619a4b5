"""Triplet loss on Sprites, with dropout of whole dimensions."""

from trainers.recipes import sprites
from trainers.recipes import sprites_triplet


def get_config():
    config = sprites_triplet.get_config()
    config.encoder.dimension_dropout = sprites.DIMENSION_DROPOUT
    return config
