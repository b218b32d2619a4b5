"""Histogram loss, retrieval of held-out Omniglot characters."""

from trainers.recipes import omniglot


def get_config():
    return omniglot.retrieval(
        {"name": "HistogramLoss"},
        learning_rate=1e-3,
        distance="cosine",
    )
