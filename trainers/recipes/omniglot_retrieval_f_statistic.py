"""F-statistic loss, retrieval of held-out Omniglot characters."""

from trainers.recipes import omniglot


def get_config():
    return omniglot.retrieval(
        {"name": "FStatisticLoss", "num_dims": 2},
        num_per_class=5,
        learning_rate=2e-4,
        distance="l2",
    )
