"""Common properties of the losses on pairs and triplets."""

import numpy as np
import pytest
import tensorflow as tf

from embeddings_tf import losses

LOSSES = [
    losses.TripletLoss(),
    losses.TripletLoss(mining="hard"),
    losses.TripletLoss(mining="semi_hard", distance="cosine"),
    losses.HistogramLoss(),
    losses.BinomialDevianceLoss(),
    losses.LiftedStructureLoss(),
    losses.ContrastiveLoss(),
]


def sizes_of_tensors(graph):
    """Numbers of elements of tensors in the graph and in its branches."""
    for operation in graph.get_operations():
        for tensor in operation.outputs:
            if tensor.shape.is_fully_defined():
                yield tensor.shape.num_elements()
        for name in ("then_branch", "else_branch"):
            if name in operation.node_def.attr:
                branch = operation.get_attr(name).name
                yield from sizes_of_tensors(graph._get_function(branch).graph)


@pytest.mark.every_nth(3)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_memory_grows_with_the_square_of_the_batch(loss):
    """No tensor, forward or backward, is as large as batch^2 * dim."""
    num_rows, dim = 50, 80

    @tf.function
    def gradient(labels, z):
        with tf.GradientTape() as tape:
            tape.watch(z)
            value = loss(labels, z)
        return tape.gradient(value, z)

    traced = gradient.get_concrete_function(
        tf.TensorSpec([num_rows], tf.int32),
        tf.TensorSpec([num_rows, dim], tf.float32),
    )
    sizes = list(sizes_of_tensors(traced.graph))
    assert len(sizes) > 50
    assert max(sizes) <= num_rows * max(num_rows + 1, dim)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_large_batch(loss):
    """A list of all triplets would have 10^8 entries."""
    labels = np.repeat(np.arange(10), 100)
    z = np.random.default_rng(0).normal(size=(1000, 4)).astype("float32")
    assert np.isfinite(loss(labels, z))


@pytest.mark.every_nth(3)
@pytest.mark.parametrize("xla", [False, True], ids=["graph", "xla"])
@pytest.mark.parametrize("num_rows", [0, 1])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_graphs_that_know_of_few_rows(loss, num_rows, xla):
    @tf.function(jit_compile=xla)
    def value_and_gradient(labels, z):
        with tf.GradientTape() as tape:
            tape.watch(z)
            value = loss(labels, z)
        return value, tape.gradient(value, z)

    rows = np.ones((num_rows, 3), "float32")
    labels = np.zeros(num_rows, "int32")
    value, gradient = value_and_gradient(tf.constant(labels), tf.constant(rows))
    # No pairs: every loss is 0.
    np.testing.assert_array_equal(value, 0)
    np.testing.assert_array_equal(gradient, np.zeros((num_rows, 3)))


@pytest.mark.parametrize(
    ("num_rows", "has_loop"), [(64, False), (2000, True), (None, True)]
)
@pytest.mark.parametrize(
    "loss", [losses.TripletLoss(), losses.FStatisticLoss()]
)
def test_graphs_of_small_batches_have_no_loop_over_blocks(
    loss, num_rows, has_loop
):
    graph = (
        tf.function(loss)
        .get_concrete_function(
            tf.TensorSpec([num_rows], tf.int32), tf.TensorSpec([num_rows, 8])
        )
        .graph.as_graph_def()
    )
    nodes = [*graph.node]
    for function in graph.library.function:
        nodes += function.node_def
    assert has_loop == any(node.op.endswith("While") for node in nodes)
