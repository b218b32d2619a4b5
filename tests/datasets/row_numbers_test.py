import numpy as np
import pytest

from embeddings_tf.datasets.row_numbers import row_numbers
from embeddings_tf.datasets.row_numbers import taken_rows


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int64])
def test_small_types_of_indices(dtype):
    found = row_numbers(np.array([0, 100], dtype), 300)
    assert found.tolist() == [0, 100]


def test_from_the_end_on():
    assert row_numbers(np.array([-1, 2], np.int8), 300).tolist() == [299, 2]


def test_taken_rows():
    for indices in ([-1, 0], np.array([2, 0], np.uint8), [True, False, True]):
        found = taken_rows(indices, 3, "images")
        assert found.tolist() == np.arange(3)[np.array(indices)].tolist()
    assert taken_rows([], 3, "images").dtype == np.int64
    for indices in (1, [[0]], [0.5], [True, False]):
        message = r"shape \(images,\), or bool for all 3; received shape"
        with pytest.raises(ValueError, match=message):
            taken_rows(indices, 3, "images")
