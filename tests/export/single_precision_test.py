"""Graphs in float32 give the results of their originals."""

import numpy as np
import tensorflow as tf

from embeddings_tf.export.single_precision import SinglePrecision
from embeddings_tf.ops import match_probability


def operations(graph_def):
    found = {node.op for node in graph_def.node}
    return found.union(
        *({n.op for n in f.node_def} for f in graph_def.library.function)
    )


def test_types_checks_loops_functions_and_variables():
    weight = tf.Variable([2.0, 3.0], dtype=tf.float64)
    large = tf.constant(np.arange(200.0).reshape(100, 2))  # captured

    @tf.function(input_signature=[tf.TensorSpec((None, 2), tf.float64)])
    def inner(x):
        def step(i, total):
            tf.debugging.assert_less(i, 3)
            return i + 1, total + tf.cast(i, tf.float64) * x

        return tf.while_loop(
            lambda i, _: i < 3, step, (tf.constant(0), tf.zeros_like(x))
        )[1]

    def function(x):
        x = tf.debugging.check_numerics(tf.cast(x, tf.float64), "NaN")
        total = inner(tf.ensure_shape(x * weight, (None, 2)))
        # The largest float64 is infinite in float32.
        total = tf.minimum(total, np.finfo(np.float64).max)
        return {"b": tf.cast(total @ tf.transpose(large), tf.float32), "a": x}

    single = SinglePrecision(function, tf.TensorSpec((None, 2), tf.float32))
    assert "CheckNumerics" not in single.operations
    served = tf.function(single).get_concrete_function(
        tf.TensorSpec((None, 2), tf.float32)
    )
    graph_def = served.graph.as_graph_def()
    assert "DT_DOUBLE" not in str(graph_def)
    assert not operations(graph_def) & {"Assert", "EnsureShape"}
    x = np.array([[1, 2], [-0.5, 4], [0, 7]], "float32")
    found = served(tf.constant(x))
    np.testing.assert_array_equal(found["a"], x)
    # 0 + 1 + 2 times x times the weight.
    expected = 3 * x * [2, 3] @ np.arange(200.0).reshape(100, 2).T
    np.testing.assert_allclose(found["b"], expected, rtol=1e-6)


def test_random_operations_are_named():
    def function(x):
        noise = tf.random.stateless_normal(tf.shape(x), (1, 2))
        return {"noisy": x + noise}

    single = SinglePrecision(function, tf.TensorSpec((None, 2), tf.float32))
    assert any("Random" in name for name in single.operations)


def test_equal_rows_have_the_distance_0():
    """Their squared distance is a rounding error; its root would be large."""
    rows = np.random.default_rng(0).normal(3, 1, (200, 16)).astype("float32")
    offset = tf.constant(0.5, tf.float64)

    def function(x):
        samples = tf.cast(x, tf.float64)[None]
        weights = tf.ones([], tf.float64), offset
        return {
            "p": tf.exp(match_probability.log_match(samples, samples, *weights))
        }

    single = SinglePrecision(function, tf.TensorSpec((None, 16), tf.float32))
    found = tf.function(single)(tf.constant(rows))["p"].numpy()
    apart = np.linalg.norm(rows[:, None] - rows.astype("float64"), axis=-1)
    expected = 1 / (1 + np.exp(apart - 0.5))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
