"""Triplet loss on small NORB, unnamed-factor oracle."""

from trainers.recipes import small_norb


def get_config():
    return small_norb.factor_oracle(
        {"name": "TripletLoss", "margin": 0.1},
        num_per_value=10,
        learning_rate=1e-4,
    )
