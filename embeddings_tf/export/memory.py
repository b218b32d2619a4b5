"""Memory that an encoder needs, from the tensors of its graph."""

import math

import tensorflow as tf

from embeddings_tf.export.example_inputs import example_inputs

# Tensors that exist at once: inputs and outputs of an operation and of another
# branch of the network.
_AT_ONCE = 4
# Numbers for a value of an input whose example cannot be measured.
_GUESS = 32


def values_of_row(graph: tf.Graph) -> int:
    """Numbers that a graph of open batch size needs at once for a row."""
    return _largest(
        math.prod(tensor.shape[1:])
        for tensor in _tensors(graph)
        if tensor.shape[:1] == [None] and None not in tensor.shape[1:]
    )


def values_per_value(function, specs: list[tf.TensorSpec]) -> int:
    """Numbers that are needed at once for a value of a row of open size.

    A graph of open sizes does not tell, so the function runs on an example.

    Args:
        function: From the inputs to the embedding.
        specs: The inputs, under their names.
    """
    inputs = example_inputs(specs, 1)

    @tf.function(autograph=False)
    def sizes(*inputs):
        function(*inputs)
        graph = tf.compat.v1.get_default_graph()
        return [tf.size(tensor) for tensor in _tensors(graph)]

    try:
        with tf.init_scope():  # also while a signature is traced
            found = sizes(*map(tf.constant, inputs.values()))
    except (tf.errors.OpError, TypeError, ValueError):
        # Preprocessing may refuse noise, or need TensorFlow's autograph.
        return _GUESS
    return -(-_largest(map(int, found)) // inputs[specs[0].name].size)


def _tensors(graph) -> list[tf.Tensor]:
    """Tensors that depend on the inputs; weights are stored once for all."""
    found = {}
    for operation in graph.get_operations():
        is_input = operation.type == "Placeholder"
        if is_input or any(x.ref() in found for x in operation.inputs):
            for tensor in operation.outputs:
                if tensor.dtype.is_numpy_compatible:
                    found[tensor.ref()] = tensor
    return [tensor for tensor in found.values() if tensor.shape.rank]


def _largest(sizes) -> int:
    return max(1, sum(sorted(sizes)[-_AT_ONCE:]))
