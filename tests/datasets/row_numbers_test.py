import numpy as np
import pytest

from embeddings_tf.datasets.row_numbers import row_numbers


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int64])
def test_small_types_of_indices(dtype):
    found = row_numbers(np.array([0, 100], dtype), 300)
    assert found.tolist() == [0, 100]


def test_from_the_end_on():
    assert row_numbers(np.array([-1, 2], np.int8), 300).tolist() == [299, 2]
