"""Learned distance, retrieval and clustering of held-out Omniglot characters.

The protocol of Monteiro et al. 2020, Appendix C, on characters instead of
birds, cars and products: recall@k when ranking by the distance, and clusters
assigned by it. Without an auxiliary classifier.
"""

from trainers.recipes import omniglot
from trainers.recipes.learned_distance import OBJECTIVE


def get_config():
    config = omniglot.retrieval({}, learning_rate=1e-3, distance="l2")
    del config.loss
    config.objective = OBJECTIVE
    config.evaluation.cluster = True
    return config
