"""Pairs of labelled embeddings."""

import itertools
import tracemalloc

import numpy as np
import pytest

from embeddings_tf.scoring.pair_scores import draw_pairs


def every_pair(ids):
    return [
        {
            pair
            for pair in itertools.combinations(range(len(ids)), 2)
            if (ids[pair[0]] == ids[pair[1]]) == is_same
        }
        for is_same in (True, False)
    ]


@pytest.mark.parametrize("most", [1000, 20])
@pytest.mark.parametrize("sizes", [[8, 3, 9, 1, 19], [120, 5]])
def test_pairs_by_loop(most, sizes):
    ids = np.repeat(np.arange(len(sizes)), sizes)
    ids = np.random.default_rng(1).permutation(ids)
    first, second = draw_pairs(ids, most, 0)
    assert (first != second).all()
    is_same = ids[first] == ids[second]
    for wanted, kind in zip(every_pair(ids), (True, False), strict=True):
        pairs = np.stack([first, second], axis=1)[is_same == kind]
        found = {tuple(sorted(pair)) for pair in pairs.tolist()}
        assert len(found) == len(pairs) == min(most, len(wanted))
        assert found <= wanted


def test_drawn_pairs_are_uniform():
    """9 pairs of a class, 12 of two classes: each is drawn equally often."""
    ids = np.array([1, 0, 1, 0, 1, 0, 0])
    same, different = every_pair(ids)
    assert (len(same), len(different)) == (9, 12)
    count = dict.fromkeys(same | different, 0)
    for seed in range(900):
        first, second = draw_pairs(ids, 2, seed)
        for pair in zip(first.tolist(), second.tolist(), strict=True):
            count[tuple(sorted(pair))] += 1
    # 200 or 150 each, with deviations of 12.5 and 11.
    assert all(150 < count[pair] < 250 for pair in same)
    assert all(105 < count[pair] < 195 for pair in different)


def test_no_class_has_two_examples():
    first, second = draw_pairs(np.arange(4), 10, 0)
    assert len(first) == len(second) == 6


def test_large_classes_need_little_memory():
    """Two classes of 20,000 have 400 million pairs of one class."""
    tracemalloc.start()
    first, second = draw_pairs(np.arange(40_000) % 2, 1000, 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(first) == 2000
    assert (first[:1000] % 2 == second[:1000] % 2).all()
    assert peak < 50e6
