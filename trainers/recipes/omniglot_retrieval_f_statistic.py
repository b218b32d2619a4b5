"""F-statistic loss, retrieval of held-out Omniglot characters."""

from trainers.recipes import omniglot


def get_config():
    return omniglot.retrieval(
        {"name": "FStatisticLoss", "num_dims": 20},
        learning_rate=1e-3,
        distance="l2",
    )
