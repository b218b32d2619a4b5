import numpy as np

from embeddings_tf.ops.rank_in_class import rank_in_class


def test_rank_by_loop():
    rng = np.random.default_rng(0)
    for labels in (rng.integers(-3, 3, 50), rng.choice(["b", "a"], 9)):
        expected = [list(labels[:i]).count(x) for i, x in enumerate(labels)]
        assert rank_in_class(labels).tolist() == expected
    assert rank_in_class(np.zeros(0, int)).shape == (0,)
