"""Functions in float32 and without checks, for converters to other engines."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from embeddings_tf.compat import register_function
from embeddings_tf.ops import distances

_SINGLE, _DOUBLE = tf.float32.as_datatype_enum, tf.float64.as_datatype_enum
# Operations that return their input, with the same names as `Identity`.
_PASS = ("CheckNumerics", "EnsureShape", "PreventGradient", "StopGradient")


class SinglePrecision:
    """A function of an embedding whose float64 parts compute in float32.

    Engines for small devices have no float64. The function's graph is copied
    with other types, and without assertions. Variables in float64 get copies.
    Rows coincide if they are closer than the rounding errors of float32.

    Args:
        function: From a tensor to tensors by name.
        spec: Shape and dtype of the tensor.
    """

    def __init__(self, function: Callable, spec: tf.TensorSpec):
        traced = tf.function(function, autograph=False)
        self._traced = concrete = traced.get_concrete_function(spec)
        self._graph_def = _rewritten(
            concrete.graph.as_graph_def(), concrete.outputs
        )
        # The functions of loops are called by name, also outside of the export.
        for definition in self._graph_def.library.function:
            register_function(definition)
        by_handle = {id(v.handle): v for v in concrete.graph.variables}
        self._variables, self._captures = [], []
        for captured in concrete.captured_inputs:
            variable = by_handle.get(id(captured))
            if variable is not None:
                if variable.dtype == tf.float64:
                    variable = tf.Variable(
                        variable.numpy().astype(np.float32), trainable=False
                    )
                self._variables.append(variable)
                captured = variable.handle
            elif captured.dtype == tf.float64:
                captured = tf.constant(captured.numpy().astype(np.float32))
            self._captures.append(captured)

    @property
    def operations(self) -> set[str]:
        """Types of the operations."""
        library = self._graph_def.library.function
        parts = (self._graph_def.node, *(f.node_def for f in library))
        return {node.op for nodes in parts for node in nodes}

    def __call__(self, x: tf.Tensor) -> dict[str, tf.Tensor]:
        graph = tf.compat.v1.get_default_graph()
        for variable in self._variables:
            graph.watch_variable(variable)  # saved with the function
        given = [x, *map(graph.capture, self._captures)]
        names = self._traced.structured_outputs
        found = tf.graph_util.import_graph_def(
            self._graph_def,
            {
                placeholder.name: value
                for placeholder, value in zip(
                    self._traced.inputs, given, strict=True
                )
            },
            [tensor.name for tensor in self._traced.outputs],
            name="single",
        )
        # Outputs of a function are in the order of their names.
        return dict(zip(sorted(names), found, strict=True))


def _rewritten(graph_def, outputs):
    """Changes a graph in place: types, assertions and names of functions."""
    _rewrite(graph_def.node, [tensor.name for tensor in outputs])
    for function in graph_def.library.function:
        # The library of the process has the original under its name.
        function.signature.name += "_single"
        _rewrite(function.node_def, function.ret.values())
        for argument in (
            *function.signature.input_arg,
            *function.signature.output_arg,
        ):
            if argument.type == _DOUBLE:
                argument.type = _SINGLE
        function.control_ret.clear()
        del function.signature.control_output[:]
        for name in [n for n in function.attr if n.startswith("_")]:
            del function.attr[name]
    del graph_def.library.gradient[:]
    return graph_def


def _rewrite(nodes, outputs) -> None:
    """Changes nodes, and keeps those that the outputs need."""
    for node in nodes:
        data = [name for name in node.input if not name.startswith("^")]
        for name in [n for n in node.attr if n.startswith("_")]:
            del node.attr[name]
        for value in node.attr.values():
            _rewrite_attribute(value)
        if node.op in _PASS:
            kind, node.op = node.attr["T"].type, "Identity"
            node.attr.clear()
            node.attr["T"].type = kind
        node.input[:] = data
    by_name = {node.name: node for node in nodes}
    needed = {n.name for n in nodes if n.op == "Placeholder"}
    left = [name.partition(":")[0] for name in outputs]
    while left:
        name = left.pop()
        # Arguments of functions are no nodes.
        if name in by_name and name not in needed:
            needed.add(name)
            left += [n.partition(":")[0] for n in by_name[name].input]
    kept = [type(node).FromString(node.SerializeToString()) for node in nodes]
    del nodes[:]
    nodes.extend(node for node in kept if node.name in needed)


def _rewrite_attribute(value) -> None:
    kind = value.WhichOneof("value")
    if kind == "type" and value.type == _DOUBLE:
        value.type = _SINGLE
    elif kind == "list":
        value.list.type[:] = [
            _SINGLE if t == _DOUBLE else t for t in value.list.type
        ]
        for function in value.list.func:
            function.name += "_single"
    elif kind == "func" and value.func.name:
        value.func.name += "_single"
    elif kind == "tensor" and value.tensor.dtype == _DOUBLE:
        array = tf.make_ndarray(value.tensor)
        if array.ndim == 0 and array == distances.RESOLUTION:
            array = np.asarray(distances.SINGLE_RESOLUTION)
        with np.errstate(over="ignore"):
            array = array.astype(np.float32)
        value.tensor.CopyFrom(tf.make_tensor_proto(array))
