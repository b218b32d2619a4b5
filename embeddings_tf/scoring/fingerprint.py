"""A short hash that distinguishes trained models."""

import hashlib
import json
from collections.abc import Mapping

import numpy as np

from embeddings_tf.compat import every_layer
from embeddings_tf.compat import stored_value
from embeddings_tf.models.method import Method

# Keys of configurations without influence on embeddings, or with names that
# Keras numbers anew in every process. Nested layers are hashed by themselves.
_IGNORED = {
    *("build_config", "build_input_shape", "compile_config"),
    *("inbound_nodes", "input_layers", "layers", "output_layers"),
    *("module", "registered_name", "seed", "shared_object_id", "trainable"),
}


def fingerprint(model) -> str:
    """Returns sixteen hexadecimal digits for the weights of a model.

    Embeddings of two models cannot be compared. The hash covers the class and
    the configuration of every layer, the shapes, types and values of all
    weights of encoder and objective, and the distance between embeddings. It
    does not cover names, the optimiser, and which layers are trainable.
    """
    digest = hashlib.sha256(Method(model).distance.encode())
    for layer in every_layer(model):
        try:
            config = _comparable(layer.get_config())
        except NotImplementedError:  # a layer of the user's own
            config = None
        text = json.dumps([type(layer).__name__, config], sort_keys=True)
        digest.update(text.encode())
    for weight in model.weights:
        value = np.ascontiguousarray(stored_value(weight))
        digest.update(f"{value.shape} {value.dtype}".encode())
        digest.update(value.tobytes())
    return digest.hexdigest()[:16]


def _comparable(value):
    """Returns a configuration as it is before and after saving, for JSON."""
    if isinstance(value, Mapping):
        if value.get("class_name") == "__lambda__":
            return "lambda"  # its bytes differ between processes
        return {
            # Batch normalisation of replicas embeds alike.
            str(key): key != "synchronized" and _comparable(part)
            for key, part in value.items()
            # The only key of a dtype policy is its name.
            if key not in _IGNORED and (key != "name" or len(value) == 1)
        }
    if isinstance(value, list | tuple):
        return [_comparable(part) for part in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return type(value).__name__
