"""F-statistic loss on Market-1501, the released settings."""

from trainers.recipes import person_re_identification


def get_config():
    return person_re_identification.market1501(
        {"name": "FStatisticLoss", "num_dims": 63},
        num_per_class=5,
        learning_rate=2e-4,
        distance="l2",
        patience=50,
    )
