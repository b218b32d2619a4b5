"""Lifted structure loss on CUHK03, the released settings."""

from trainers.recipes import person_re_identification


def get_config():
    return person_re_identification.cuhk03(
        {"name": "LiftedStructureLoss", "form": "authors"},
        num_per_class=10,
        learning_rate=1e-4,
        distance="l2",
        patience=20,
    )
