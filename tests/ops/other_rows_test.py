import numpy as np
import pytest

from embeddings_tf.ops.nearest import Distances
from embeddings_tf.ops.nearest import nearest
from embeddings_tf.ops.other_rows import other_rows


def test_by_hand():
    found = np.array([[7, 2, 5], [1, 7, 5], [1, 2, 7], [1, 2, 5]])
    expected = [[2, 5], [1, 5], [1, 2], [1, 2]]
    assert other_rows(found, np.full(4, 7)).tolist() == expected
    assert other_rows(np.zeros((0, 3), int), np.arange(0)).shape == (0, 2)
    assert other_rows(np.array([[4], [5]]), np.array([4, 4])).shape == (2, 0)


@pytest.mark.parametrize("count", [1, 3, 6])
def test_equal_rows_in_a_search(count):
    x = np.array([1.0, 1, 1, 1, 4, 1, 9, 5])[:, None]
    rows, found = next(nearest(Distances(x, x), np.array([5, 0, 4]), count + 1))
    expected = [
        sorted(
            (i for i in range(8) if i != row), key=lambda i: abs(x[i] - x[row])
        )
        for row in rows
    ]
    assert other_rows(found, rows).tolist() == [e[:count] for e in expected]
