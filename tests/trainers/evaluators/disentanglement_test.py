"""The modularity of a code with one dimension for every value."""

import itertools

import numpy as np
import pytest

from trainers.evaluators.disentanglement import modularity_of_ideal


def test_independent_factors():
    factors = np.array([*itertools.product(range(2), range(3), range(4))])
    assert modularity_of_ideal(factors) == pytest.approx(1)


def test_a_factor_of_one_value_tells_nothing():
    factors = np.array([*itertools.product(range(2), range(3), [7])])
    assert modularity_of_ideal(factors) == pytest.approx(1)


def test_two_names_of_one_factor():
    column = np.repeat([0, 1, 2], 4)
    assert modularity_of_ideal(np.stack([column, column], 1)) == pytest.approx(
        0
    )


def test_factors_that_depend_on_each_other():
    """Two binary factors that agree in 3 of 4 examples: all 4 dimensions."""
    factors = np.array([[0, 0], [0, 0], [0, 0], [0, 1]] * 2)
    factors[4:] = 1 - factors[4:]
    agree = 2 * (3 / 8) * np.log(3 / 8 / 0.25)
    disagree = 2 * (1 / 8) * np.log(1 / 8 / 0.25)
    shared, own = agree + disagree, np.log(2)
    expected = 1 - shared**2 / own**2
    assert modularity_of_ideal(factors) == pytest.approx(expected)
