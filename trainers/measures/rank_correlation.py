"""Spearman's rank correlation of two lists of numbers."""

import numpy as np


def rank_correlation(first, second) -> float | None:
    """Returns the rank correlation; None if a constant has no ranks."""
    from scipy.stats import spearmanr

    if not (np.ptp(first) and np.ptp(second)):
        return None
    return float(spearmanr(first, second).statistic)
