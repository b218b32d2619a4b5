"""Refuses to export calls of Python functions."""

# Of tf.numpy_function and tf.py_function.
_CALLS = {"EagerPyFunc", "PyFunc", "PyFuncStateless"}


def require_no_python(name: str, function) -> None:
    """Raises ValueError if a signature calls Python functions.

    Only the process that made such a call can run it.

    Args:
        name: Name of the signature.
        function: Its concrete function.
    """
    graph_def = function.graph.as_graph_def()
    found = {node.op for node in graph_def.node}
    for part in graph_def.library.function:
        found |= {node.op for node in part.node_def}
    if calls := sorted(found & _CALLS):
        raise ValueError(
            "The exported model must consist of TensorFlow's operations, "
            f"because other processes cannot call your Python; the signature "
            f"{name!r} contains {', '.join(calls)}. Replace tf.py_function and "
            "tf.numpy_function in the model, `preprocessing` and `decoder` by "
            "operations of TensorFlow."
        )
