import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.ops.tensors import real_matrix
from embeddings_tf.ops.tensors import real_numbers
from embeddings_tf.ops.tensors import require_one_width
from embeddings_tf.ops.tensors import rows_of_one_length

Z = np.ones((3, 2), "float32")


def test_real_numbers():
    np.testing.assert_array_equal(real_numbers("Z", [[1, 2]]), [[1, 2]])
    assert real_numbers("Z", [1], "float32").dtype == tf.float32
    for bad in (Z + 0j, tf.constant(Z + 0j)):
        with pytest.raises(ValueError, match="Z must be real.*imaginary"):
            real_numbers("Z", bad)
    for bad in (np.array(["a"]), tf.constant([True])):
        with pytest.raises(ValueError, match="Z must be real numbers"):
            real_numbers("Z", bad)


def test_a_matrix():
    assert real_matrix("Z", Z).shape == Z.shape
    for bad in (Z[0], Z[None], np.float32(1)):
        with pytest.raises(ValueError, match=r"Z must be a matrix.*received"):
            real_matrix("Z", bad)


def test_widths_that_differ():
    require_one_width(tf.ones((3, 4)), tf.ones((1, 4)))
    with pytest.raises(ValueError, match=r"same width.*\(3, 4\).*\(3, 2\)"):
        require_one_width(tf.ones((3, 4)), tf.ones((3, 2)))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_rows_of_one_length(axis, jit_compile):
    """A single row is not compared with many, also if a graph is open."""
    shape = (2, 5, 3)[1 - axis :]
    many = np.arange(np.prod(shape), dtype="float32").reshape(shape)
    one = many[:, :1] if axis else many[:1]
    spec = tf.TensorSpec([*shape[:axis], None, 3])
    compiled = tf.function(
        lambda first, second: rows_of_one_length(first, second, axis),
        input_signature=[spec, spec],
        autograph=False,
        jit_compile=jit_compile,
    )
    for found in (
        *compiled(many, -many),
        *rows_of_one_length(tf.constant(many), tf.constant(-many), axis),
    ):
        np.testing.assert_array_equal(np.abs(found), many)
    for pair in ((one, many), (many, one)):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="row by row|requested shape"
        ):
            compiled(*pair)
        with pytest.raises(ValueError, match="row by row; received . and ."):
            rows_of_one_length(*map(tf.constant, pair), axis)
