import itertools

import numpy as np
import pytest

from embeddings_tf import viz

# An ideal code: all combinations of five values of three factors, shuffled.
IDEAL = np.random.default_rng(0).permutation(
    np.array(list(itertools.product(range(5), repeat=3)))
)


def test_ideal_code_moves_in_one_dimension_only():
    chosen = viz.traversal_indices(IDEAL, num_steps=5)
    for dim in range(3):
        expected = np.full((5, 3), 2)  # the medians
        expected[:, dim] = range(5)
        np.testing.assert_array_equal(IDEAL[chosen[dim]], expected)


def test_around_a_reference():
    chosen = viz.traversal_indices(
        IDEAL, [2, 0], num_steps=5, reference=[0, 1, 4]
    )
    np.testing.assert_array_equal(
        IDEAL[chosen[0]], [[0, 1, i] for i in range(5)]
    )
    np.testing.assert_array_equal(
        IDEAL[chosen[1]], [[i, 1, 4] for i in range(5)]
    )


def test_against_a_loop():
    rng = np.random.default_rng(1)
    codes = rng.normal(size=(61, 4)) * [1, 100, 0.01, 3] + [0, 5, -7, 1]
    chosen = viz.traversal_indices(codes, num_steps=6)
    units = (codes - np.median(codes, axis=0)) / codes.std(axis=0)
    for dim in range(4):
        ranking = sorted(range(61), key=lambda i: codes[i, dim])
        # 61 = 11 + 5 * 10
        starts = [0, 11, 21, 31, 41, 51, 61]
        for step in range(6):
            part = ranking[starts[step] : starts[step + 1]]
            best = min(
                part,
                key=lambda i: sum(
                    units[i, j] ** 2 for j in range(4) if j != dim
                ),
            )
            assert chosen[dim, step] == best


def test_rises_without_repetition():
    codes = np.random.default_rng(2).normal(size=(40, 8)).astype("float32")
    for dim, row in enumerate(viz.traversal_indices(codes, num_steps=40)):
        assert sorted(row) == list(range(40))
        assert np.all(np.diff(codes[row, dim]) > 0)


def test_constant_dimensions_count_for_nothing():
    constant = np.full((125, 1), 1 / 3)
    np.testing.assert_array_equal(
        viz.traversal_indices(np.hstack([IDEAL, constant]), range(3), 5),
        viz.traversal_indices(IDEAL, num_steps=5),
    )
    alone = viz.traversal_indices(constant, num_steps=5)
    assert len(set(alone[0])) == 5


def test_single_dimension():
    chosen = viz.traversal_indices([[3.0], [1.0], [2.0]], num_steps=3)
    np.testing.assert_array_equal(chosen, [[1, 2, 0]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"codes": IDEAL[0]}, r"`codes` must have shape \(n, dims\)"),
        ({"codes": IDEAL * np.nan}, "`codes` must be finite"),
        ({"codes": IDEAL[:6]}, "`num_steps` = 7 examples; received 6"),
        ({"num_steps": 0}, "`num_steps` must be an integer of at least 1"),
        ({"dims": [3]}, r"from 0 to 2; received \[3\]"),
        ({"dims": [-1]}, "from 0 to 2"),
        ({"dims": [0.5]}, "from 0 to 2"),
        ({"dims": 1}, "must be a list"),
        ({"reference": [0, 0]}, "each of the 3 dimensions; received 2"),
        ({"reference": [0, 0, np.nan]}, "`reference` must be finite"),
    ],
)
def test_errors(change, message):
    with pytest.raises(ValueError, match=message):
        viz.traversal_indices(**{"codes": IDEAL, **change})
