import numpy as np
import pytest
from scipy.stats import t

from embeddings_tf.metrics import within_subject_interval


def by_loop(values, level):
    """Loftus & Masson 1994, with sums in the order of the text books."""
    n, k = len(values), len(values[0])
    grand = sum(sum(row) for row in values) / (n * k)
    interaction = 0.0
    for s in range(n):
        subject = sum(values[s]) / k
        for m in range(k):
            method = sum(values[i][m] for i in range(n)) / n
            interaction += (values[s][m] - subject - method + grand) ** 2
    freedom = (n - 1) * (k - 1)
    return t.ppf((1 + level) / 2, freedom) * (interaction / freedom / n) ** 0.5


@pytest.mark.parametrize("shape", [(2, 2), (4, 2), (7, 5)])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_a_loop_over_subjects_and_methods(shape, level):
    values = np.random.default_rng(0).normal(size=shape)
    assert within_subject_interval(values, level) == pytest.approx(
        by_loop(values.tolist(), level), rel=1e-12
    )


def test_arithmetic():
    # Differences 2, 3 and 1: residuals 0, +-1/2, -+1/2; mean square 1 / 2.
    values = [[10, 12], [20, 23], [30, 31]]
    expected = t.ppf(0.975, 2) * (0.5 / 3) ** 0.5
    assert within_subject_interval(values) == pytest.approx(expected)


def test_two_methods_give_the_paired_t_interval():
    # The half width is that of the mean difference, divided by sqrt(2).
    first, second = np.random.default_rng(1).normal(size=(2, 9))
    difference = first - second
    half = t.ppf(0.975, 8) * difference.std(ddof=1) / 9**0.5
    found = within_subject_interval(np.stack([first, second], axis=1))
    assert found == pytest.approx(half / 2**0.5)


def test_differences_of_subjects_do_not_count():
    values = np.random.default_rng(2).normal(size=(5, 3))
    shifted = values + 100 * np.arange(5)[:, None]
    assert within_subject_interval(shifted) == pytest.approx(
        within_subject_interval(values), rel=1e-9
    )
    assert within_subject_interval(np.arange(5.0)[:, None] + np.zeros(3)) == 0


def test_large_values():
    values = np.random.default_rng(3).normal(size=(5, 3))
    assert within_subject_interval(np.ldexp(values, 1000)) == np.ldexp(
        within_subject_interval(values), 1000
    )


@pytest.mark.parametrize("shape", [(1, 3), (3, 1)])
def test_one_subject_or_method(shape):
    with pytest.raises(ValueError, match="two subjects and two methods; rec"):
        within_subject_interval(np.ones(shape))
