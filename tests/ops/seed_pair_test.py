import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.ops.seed_pair import seed_pair


@pytest.mark.parametrize(
    "seed",
    [(1, 2), [1, 2], np.array([1, 2]), tf.constant([1, 2], tf.int64)],
    ids=["tuple", "list", "array", "tensor"],
)
def test_pairs(seed):
    assert seed_pair(seed).numpy().tolist() == [1, 2]


def test_an_integer_is_a_seed_where_that_is_allowed():
    assert seed_pair(7, True).numpy().tolist() == [0, 7]
    assert seed_pair(np.int64(2**40), True).numpy().tolist() == [0, 2**40]
    with pytest.raises(ValueError, match="two integers"):
        seed_pair(7)
    for bad in (-1, 2**63, True):
        with pytest.raises(ValueError, match="`seed` must be an integer from"):
            seed_pair(bad, True)


@pytest.mark.parametrize(
    "seed",
    [None, "text", (1.0, 2.0), (1, 2, 3), (), {"a": 1}, (2**70, 1), [[1], 2]],
    ids=repr,
)
def test_no_seeds(seed):
    for allow_integer in (False, True):
        with pytest.raises(ValueError, match="`seed` must be"):
            seed_pair(seed, allow_integer)
