import numpy as np

from trainers.measures.rank_correlation import rank_correlation


def test_by_ranks():
    # Ranks 1 3 2 4 and 1 2 3 4: 1 - 6 (0 + 1 + 1 + 0) / (4 (16 - 1)).
    found = rank_correlation(np.array([1, 30, 5, 70]), np.array([2, 3, 4, 9]))
    assert isinstance(found, float) and abs(found - 0.8) < 1e-12


def test_a_constant_has_no_ranks():
    """For example a variance that collapsed."""
    assert rank_correlation(np.ones(4), np.arange(4)) is None
    assert rank_correlation(np.arange(4), np.ones(4)) is None
