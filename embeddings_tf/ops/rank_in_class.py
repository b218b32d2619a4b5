"""Counts the rows of each class."""

import numpy as np


def rank_in_class(labels: np.ndarray) -> np.ndarray:
    """Returns how many rows of its class come before each row, `(n,)`."""
    order = np.argsort(labels, kind="stable")
    ordered = labels[order]
    rank = np.empty(len(labels), np.int64)
    rank[order] = np.arange(len(labels)) - np.searchsorted(ordered, ordered)
    return rank
