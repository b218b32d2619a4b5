import itertools

import numpy as np
import pytest

from embeddings_tf.metrics import distance_properties


def test_against_loops():
    distance = np.random.default_rng(0).random((9, 9)).astype("float32")
    found = distance_properties(distance)
    assert all(values.dtype == np.float32 for values in found.values())
    np.testing.assert_array_equal(
        found["self_distance"], [distance[i, i] for i in range(9)]
    )
    pairs = list(itertools.combinations(range(9), 2))
    np.testing.assert_array_equal(
        found["asymmetry"],
        [abs(distance[i, j] - distance[j, i]) for i, j in pairs],
    )
    excess = [
        max(distance[b, c] - (distance[a, b] + distance[a, c]), 0)
        for a, b, c in itertools.combinations(range(9), 3)
    ]
    assert np.count_nonzero(excess) > 5
    np.testing.assert_allclose(found["triangle_excess"], excess, atol=1e-6)


def test_a_metric_breaks_no_rule():
    points = np.random.default_rng(1).normal(size=(30, 4))
    distance = np.linalg.norm(points[:, None] - points, axis=-1)
    for values in distance_properties(distance).values():
        np.testing.assert_allclose(values, 0, atol=1e-12)


def test_triplets_are_of_a_random_sample():
    # d(a, b) = 4^a for a < b: the excess 4^b - 2 * 4^a identifies b.
    distance = np.tile(4.0 ** np.arange(40)[:, None], 40)
    middles = set()
    for seed in range(3):
        found = distance_properties(distance, num_items=6, seed=seed)
        assert len(found["self_distance"]) == 40
        assert len(found["asymmetry"]) == 40 * 39 // 2
        excess = found["triangle_excess"]
        assert len(excess) == 6 * 5 * 4 // 6
        b = np.unique(np.ceil(np.log2(excess) / 2))
        assert len(b) == 4  # all of six rows except the first and last
        middles.add(tuple(b))
    assert len(middles) == 3
    again = distance_properties(distance, num_items=6, seed=2)
    np.testing.assert_array_equal(again["triangle_excess"], excess)


@pytest.mark.parametrize(
    ("distance", "more", "message"),
    [
        (np.zeros((3, 4)), {}, "a square matrix"),
        (np.zeros((2, 2)), {}, "at least 3"),
        (np.full((3, 3), np.nan), {}, "be finite"),
        (np.zeros((3, 3)), {"num_items": 2}, "at least 3"),
        (np.zeros((3, 3)), {"num_items": 2.5}, "an integer"),
    ],
)
def test_bad_input(distance, more, message):
    with pytest.raises(ValueError, match=message):
        distance_properties(distance, **more)
