"""F-statistic loss on small NORB, unnamed-factor oracle."""

from trainers.recipes import small_norb


def get_config():
    return small_norb.factor_oracle(
        {"name": "FStatisticLoss", "num_dims": 2},
        num_per_value=5,
        learning_rate=2e-4,
    )
