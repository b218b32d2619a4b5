"""Lifted structure loss on CUB-200-2011, the released settings."""

from trainers.recipes import birds


def get_config():
    return birds.cub200(
        {"name": "LiftedStructureLoss", "form": "authors"},
        num_per_class=10,
        learning_rate=1e-4,
        distance="l2",
        patience=20,
    )
