import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.ops import pairs


def test_masks_by_loop():
    labels = [3, -1, 3, 5, -1, 3]
    positive, negative = pairs.positive_and_negative(tf.constant(labels))
    for i, first in enumerate(labels):
        for j, second in enumerate(labels):
            assert bool(positive[i, j]) == (first == second and i != j)
            assert bool(negative[i, j]) == (first != second)


def test_mean_over():
    values = tf.constant([[1.0, 2.0], [4.0, 8.0]])
    mask = tf.constant([[True, False], [True, True]])
    assert float(pairs.mean_over(mask, values)) == pytest.approx(13 / 3)
    assert float(pairs.mean_over(mask & False, values)) == 0
    huge = tf.fill([100, 100], 1e37)
    np.testing.assert_allclose(pairs.mean_over(huge > 0, huge), 1e37, 1e-5)


def sum_of_squares(labels, embeddings):
    assert labels.dtype.is_integer
    return tf.reduce_sum(embeddings**2)


@pytest.mark.parametrize(
    ("given", "returned"),
    [
        ("float16", "float32"),
        ("bfloat16", "float32"),
        ("float32", "float32"),
        ("float64", "float64"),
    ],
)
def test_set_wise(given, returned):
    z = tf.cast([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]], given)
    values = pairs.set_wise(sum_of_squares, [[1.0], [2.0], [2.0]], z)
    np.testing.assert_array_equal(values, [30, 30, 30])
    assert values.dtype == returned


def test_set_wise_of_two_replicas(strategy):
    halves = [tf.constant([[1.0], [2.0]]), tf.constant([[3.0]])]

    def piece(context):
        return halves[context.replica_id_in_sync_group]

    z = strategy.experimental_distribute_values_from_function(piece)
    values = strategy.run(
        lambda z: pairs.set_wise(sum_of_squares, z[:, 0], z), args=(z,)
    )
    first, second = strategy.experimental_local_results(values)
    np.testing.assert_array_equal(first, [14, 14])
    np.testing.assert_array_equal(second, [14])
