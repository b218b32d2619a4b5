import itertools

import numpy as np
import pytest

from embeddings_tf import viz


def test_by_loop():
    rng = np.random.default_rng(0)
    codes = rng.normal(size=(40, 4)) * [1, 100, 0.01, 3]
    stddev = codes.std(axis=0)

    def others_off(reference):
        total = 0
        for dim in (3, 1):
            ranking = sorted(range(40), key=lambda i: codes[i, dim])
            for start in range(0, 40, 10):
                total += min(
                    sum(
                        ((codes[i, j] - reference[j]) / stddev[j]) ** 2
                        for j in range(4)
                        if j != dim
                    )
                    for i in ranking[start : start + 10]
                )
        return total

    for max_candidates, candidates in ((40, codes), (13, codes[::4])):
        found = viz.traversal_reference(
            codes, [3, 1], 4, max_candidates=max_candidates
        )
        expected = min(others_off(code) for code in candidates)
        assert others_off(found) == pytest.approx(expected)
        assert (candidates == found).all(axis=1).any()


def test_is_an_example_where_the_median_is_none():
    """With two values per factor, the median is not an example."""
    codes = np.array([*itertools.product((0, 1), repeat=3)] * 5)
    np.testing.assert_array_equal(np.median(codes, axis=0), 0.5)
    reference = viz.traversal_reference(codes, num_steps=2)
    assert set(reference) <= {0, 1}
    chosen = viz.traversal_indices(codes, num_steps=2, reference=reference)
    for dim, row in enumerate(chosen):
        np.testing.assert_array_equal(codes[row, dim], [0, 1])
        others = np.delete(codes[row], dim, axis=1)
        np.testing.assert_array_equal(others, [np.delete(reference, dim)] * 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"codes": [1.0, 2.0]}, r"`codes` must have shape \(n, dims\)"),
        ({"codes": np.zeros((0, 2))}, "`codes`"),
        ({"codes": np.zeros((6, 2))}, "`num_steps` = 7 examples; received 6"),
        ({"codes": np.full((9, 2), np.nan)}, "`codes` must be finite"),
        ({"dims": [2]}, r"from 0 to 1; received \[2\]"),
        ({"max_candidates": 0}, "`max_candidates` must be an integer"),
    ],
)
def test_errors(change, message):
    with pytest.raises(ValueError, match=message):
        viz.traversal_reference(**{"codes": np.eye(9)[:, :2], **change})
