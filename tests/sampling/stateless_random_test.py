import numpy as np
import pytest
import tensorflow as tf


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed, alg: tf.random.stateless_uniform(
            (3,), seed, None, None, tf.int64, alg
        ),
        lambda seed, alg: tf.random.experimental.stateless_fold_in(
            seed, seed[0], alg
        ),
        lambda seed, alg: tf.random.experimental.stateless_shuffle(
            tf.range(9), seed, alg
        ),
    ],
    ids=["bits", "fold", "shuffle"],
)
def test_random_numbers_are_philox(draw):
    """On every processor on which tf.data draws."""
    steps = tf.data.Dataset.range(5)
    selected, philox = (
        np.stack(
            list(steps.map(lambda n, alg=alg: draw(tf.stack([n, 7]), alg)))
        )
        for alg in ("auto_select", "philox")
    )
    np.testing.assert_array_equal(selected, philox)
