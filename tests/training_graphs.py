"""Frees the graphs of finished trainings."""

import inspect

import tensorflow as tf
from tensorflow.python.framework import ops

# The steps of `fit`, `evaluate` and `predict`, as Keras names them.
STEP = "one_step_on_data"
# Names of registered gradients that stay, and are not looked at again.
kept = set()


def forget_training_graphs() -> None:
    """Forgets the gradients of steps of Keras, so their graphs are freed.

    TensorFlow registers the gradient of each call of a `tf.custom_gradient`
    function in a graph, for good, and the gradient refers to the graph. A `fit`
    of a small model keeps 15 MB, and all tests would fill the memory. A step
    contains its gradients already. Other graphs may need theirs later.
    """
    registered = ops.gradient_registry._registry
    for name in registered.keys() - kept:
        if _is_of_step(registered[name]["type"]):
            del registered[name]
        else:
            kept.add(name)


def _is_of_step(gradient) -> bool:
    gradient = _variables(gradient).get("tape_grad_fn")
    results = gradient and tf.nest.flatten(_variables(gradient)["result"])
    graph = results[0].graph if results else None
    while graph is not None:
        if getattr(graph, "name", "").startswith(STEP):
            return True
        graph = getattr(graph, "outer_graph", None)
    return False


def _variables(function) -> dict:
    """Returns the variables of the enclosing functions that it refers to."""
    if not inspect.isfunction(function):
        return {}
    return inspect.getclosurevars(function).nonlocals
