"""Histogram loss, retrieval of held-out Omniglot characters."""

from trainers.recipes import omniglot


def get_config():
    return omniglot.retrieval(
        {"name": "HistogramLoss"},
        num_per_class=10,
        learning_rate=1e-4,
        distance="cosine",
    )
