import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.ops import episode


def split_by_loop(labels, num_support):
    """Loops over rows and counts the occurrences of each label."""
    order, seen = [], {}
    class_ids, is_support = [], []
    for label in labels:
        if label not in seen:
            seen[label] = 0
            order.append(label)
        class_ids.append(order.index(label))
        is_support.append(seen[label] < num_support)
        seen[label] += 1
    return class_ids, len(order), is_support


@pytest.mark.parametrize("num_support", [1, 2, 5])
@pytest.mark.parametrize("in_graph", [False, True])
def test_split_by_loop(num_support, in_graph):
    split = episode.split_episode
    if in_graph:
        signature = [
            tf.TensorSpec((None,), tf.int32),
            tf.TensorSpec((), "int32"),
        ]
        split = tf.function(split, input_signature=signature)
    rng = np.random.default_rng(num_support)
    for _ in range(10):
        counts = rng.integers(1, 8, size=6)
        labels = np.repeat([7, -3, 0, 2_000_000_000, 5, 6], counts)
        labels = rng.permutation(labels).astype("int32")
        actual = split(labels, num_support)
        class_ids, num_classes, is_support = split_by_loop(
            labels.tolist(), num_support
        )
        np.testing.assert_array_equal(actual.class_ids, class_ids)
        np.testing.assert_array_equal(actual.is_support, is_support)
        assert actual.num_classes == num_classes


def test_supports_and_queries():
    split = episode.split_episode(tf.constant([5, 3, 5, 3, 3]), 1)
    rows = np.arange(10).reshape(5, 2)
    np.testing.assert_array_equal(split.supports(rows), rows[[0, 1]])
    np.testing.assert_array_equal(split.queries(rows), rows[[2, 3, 4]])
    np.testing.assert_array_equal(split.queries(split.class_ids), [0, 1, 1])


def test_split_of_no_rows():
    class_ids, num_classes, is_support = episode.split_episode(
        tf.zeros((0,), tf.int32), 1
    )
    assert class_ids.shape == is_support.shape == (0,)
    assert num_classes == 0
