import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.ops.positives import Positives

BATCHES = {
    "mixed": [5, -2, 5, 5, 7, -2, 5, 7, 5, 9],
    "one class": [3, 3, 3],
    "singletons": [4, 1, 2],
    "one row": [1],
}


@pytest.mark.parametrize("labels", BATCHES.values(), ids=BATCHES)
def test_takes_the_other_rows_of_the_class(labels):
    matrix = np.arange(len(labels) ** 2, dtype="float32")
    matrix = matrix.reshape(len(labels), -1)
    for rows in (np.arange(len(labels)), np.arange(len(labels))[1:]):
        positives = Positives(tf.constant(labels))
        taken = positives.take(matrix[rows], rows).numpy()
        columns = np.arange(len(labels)) * 1.0
        of_columns = positives.of_columns(columns, rows).numpy()
        exists = positives.exists(rows).numpy()
        for place, row in enumerate(rows):
            expected = [
                other
                for other, label in enumerate(labels)
                if label == labels[row] and other != row
            ]
            found = exists[place]
            assert sorted(taken[place, found]) == list(matrix[row, expected])
            assert sorted(of_columns[place, found]) == expected
            assert positives.count[row] == len(expected)
        same = np.array(labels)[rows, None] == labels
        np.testing.assert_array_equal(positives.same_class(rows), same)
    assert positives.most == max(positives.count)


def test_adds_to_the_positives():
    labels = [0, 1, 0, 0]
    positives = Positives(tf.constant(labels))
    rows = tf.constant([0, 1, 3])
    values = tf.where(positives.exists(rows), 1.0, 0.0)
    added = positives.add(tf.zeros([3, 4]), rows, values)
    expected = [[0, 0, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0]]
    np.testing.assert_array_equal(added, expected)


def test_all_columns_are_listed_for_xla():
    """There, only entries of positives exist."""
    labels = tf.constant([0, 1, 0, 0])

    @tf.function(jit_compile=True)
    def sums(matrix):
        positives = Positives(labels)
        rows = tf.range(4)
        exists = positives.exists(rows)
        taken = tf.where(exists, positives.take(matrix, rows), 0)
        columns = positives.of_columns(matrix[0], rows)
        columns = tf.where(exists, columns, 0)
        return (
            tf.reduce_sum(taken, axis=1),
            tf.reduce_sum(columns, axis=1),
            positives.add(matrix, rows, taken),
        )

    matrix = np.arange(16, dtype="float32").reshape(4, 4)
    taken, columns, added = sums(tf.constant(matrix))
    np.testing.assert_array_equal(taken, [2 + 3, 0, 8 + 11, 12 + 14])
    np.testing.assert_array_equal(columns, [2 + 3, 0, 0 + 3, 0 + 2])
    is_positive = np.array([[0, 0, 1, 1], [0] * 4, [1, 0, 0, 1], [1, 0, 1, 0]])
    np.testing.assert_array_equal(added, matrix * (1 + is_positive))
