import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.ops.first_not_finite import first_not_finite

TYPES = ["float16", "float32", "float64", "complex64", tf.bfloat16]
TYPES.append(tf.dtypes.experimental.float8_e5m2)


@pytest.mark.parametrize("dtype", [tf.as_dtype(name) for name in TYPES])
def test_the_first_row_that_is_not_finite(dtype):
    for shape in ((4,), (4, 3), (4, 2, 3)):
        rows = np.ones(shape).astype(dtype.as_numpy_dtype)
        assert first_not_finite(rows) is None
        rows[3] = np.nan
        assert first_not_finite(rows) == 3
        rows.reshape(4, -1)[1, -1] = np.inf
        assert first_not_finite(rows) == 1
    assert first_not_finite(rows[:0]) is None


def test_other_types_have_no_nan():
    for rows in (np.ones(3, "int8"), np.array(["nan"]), np.array([None])):
        assert first_not_finite(rows) is None
