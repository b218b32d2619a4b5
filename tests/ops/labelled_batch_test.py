import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf.ops.labelled_batch import class_labels
from embeddings_tf.ops.labelled_batch import labelled_batch
from embeddings_tf.ops.tensors import real_numbers

Z = np.ones((3, 2), "float32")


@pytest.mark.parametrize(
    "dtype",
    ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"],
)
def test_integers_stay_exact(dtype):
    largest = np.iinfo(dtype).max
    ids = np.array([0, largest - 1, largest], dtype)
    labels = class_labels(ids)
    fits = np.iinfo(dtype).max < 2**31
    assert labels.dtype == (tf.int32 if fits else tf.int64)
    # From 2^63 on, ids of uint64 change, but stay distinct.
    np.testing.assert_array_equal(labels, ids.astype("int64"))
    assert len(set(labels.numpy().tolist())) == 3


@pytest.mark.parametrize(
    ("dtype", "digits"),
    [("bfloat16", 8), ("float16", 11), ("float32", 24), ("float64", 53)],
)
@pytest.mark.parametrize("in_graph", [False, True])
def test_whole_floats_below_the_limit(dtype, digits, in_graph):
    read = tf.function(class_labels) if in_graph else class_labels
    largest = 2**digits - 1
    ids = tf.cast(tf.constant([[-3.0], [0.0], [largest]], "float64"), dtype)
    np.testing.assert_array_equal(read(ids), [-3, 0, largest])
    with pytest.raises(
        (ValueError, tf.errors.InvalidArgumentError), match="class ids"
    ):
        read(tf.cast([0.0, 2.0**digits], dtype))


BAD_FLOATS = [[0.0, 0.3, 0.6], [0.0, np.nan, 1.0], [0.0, -np.inf, 1.0]]


@pytest.mark.parametrize("bad", BAD_FLOATS)
def test_bad_floats(bad):
    with pytest.raises(ValueError, match=r"not whole numbers.*Received"):
        class_labels(bad)
    function = tf.function(class_labels)
    with pytest.raises(tf.errors.InvalidArgumentError, match="whole numbers"):
        function(tf.constant(bad))
    # Also if nothing uses the labels.
    with pytest.raises(tf.errors.InvalidArgumentError, match="whole numbers"):
        tf.function(lambda y: class_labels(y).shape[0] or 1)(tf.constant(bad))


def test_xla_refuses_floats_while_tracing():
    function = tf.function(class_labels, jit_compile=True)
    with pytest.raises(ValueError, match=r"XLA.*astype\('int64'\)"):
        function(tf.constant([0.0, 1.0]))
    np.testing.assert_array_equal(function(tf.constant([2**40, 1])), [2**40, 1])


@pytest.mark.parametrize(
    "labels",
    [
        np.array([True, False, True]),
        np.array(["a", "b", "c"]),
        ["a", "b", "c"],
        np.array([0j, 1, 2]),
        np.array([object()] * 3),
        tf.constant([True, False, True]),
        tf.constant(["a", "b", "c"]),
    ],
)
def test_no_numbers(labels):
    with pytest.raises(ValueError, match=r"integers; received the type .*uniq"):
        class_labels(labels)


def test_one_hot():
    with pytest.raises(ValueError, match="argmax"):
        class_labels(np.eye(3))


@pytest.mark.parametrize("shape", [(3,), (3, 1, 2), (3, 1, 1, 2), ()])
def test_rank(shape):
    message = r"matrix \(batch, dim\).*Flatten"
    with pytest.raises(ValueError, match=message):
        labelled_batch([0, 1, 2], np.ones(shape, "float32"))
    function = tf.function(labelled_batch)
    with pytest.raises(ValueError, match=message):
        function(tf.constant([0, 1, 2]), tf.ones(shape))
    for jit_compile in (False, True):
        function = tf.function(
            labelled_batch,
            input_signature=[
                tf.TensorSpec([None], tf.int32),
                tf.TensorSpec(None),
            ],
            jit_compile=jit_compile,
        )
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="matrix|compatible"
        ):
            function(tf.constant([0, 1, 2]), tf.ones(shape))


@pytest.mark.parametrize("labels", [[0], [0, 1], [0, 1, 2, 3]])
def test_length(labels):
    with pytest.raises(ValueError, match=rf"Received {len(labels)} labels"):
        labelled_batch(labels, Z)
    for jit_compile in (False, True):
        function = tf.function(
            labelled_batch,
            input_signature=[
                tf.TensorSpec([None], tf.int32),
                tf.TensorSpec([None, 2]),
            ],
            jit_compile=jit_compile,
        )
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="same number|requested shape"
        ):
            function(tf.constant(labels), tf.constant(Z))


def test_one_hot_of_unknown_rank():
    function = tf.function(
        labelled_batch,
        input_signature=[tf.TensorSpec(None), tf.TensorSpec([None, 2])],
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="same number"):
        function(tf.eye(3), tf.constant(Z))


NO_ARRAYS = {
    "None": None,
    "a dictionary": {"a": 1},
    "an object": object(),
    "objects": np.array([object()] * 3),
    "a ragged list": [[1.0, 2.0], [3.0]],
    "a ragged tensor": tf.ragged.constant([[1.0, 2.0], [3.0]]),
    "long doubles": np.ones(3, np.longdouble),
}


@pytest.mark.parametrize("name", NO_ARRAYS)
def test_no_arrays(name):
    for read, message in (
        (class_labels, "integers; received|`labels` must be an array"),
        (lambda z: real_numbers("Z", z), "real numbers; received|`Z` must be"),
    ):
        with pytest.raises(ValueError, match=message):
            read(NO_ARRAYS[name])
