"""Features of an encoder for its uncertainty head."""

from collections.abc import Callable

import keras
import tensorflow as tf


def encoder_features(encoder, width: int) -> tuple[Callable, int]:
    """Returns a function from inputs to embeddings and features.

    The features are the embedding, and mean and standard deviation over space
    of inner layers: for each spatial size, the last layer of the encoder with
    that size. A functional or `Sequential` model has inner layers; the
    features of any other layer or model are its embedding alone. Layers inside
    nested models are not visited.

    Args:
        encoder: A built Keras model or layer.
        width: The last axis of its embeddings.

    Returns:
        A function from inputs to embeddings `(batch, width)` and features
        `(batch, num_features)`, both in inference mode and without gradient;
        and `num_features`.
    """
    run, channels = _with_inner_layers(encoder)

    def embed(inputs):
        embeddings, inner = run(inputs)
        features = [tf.cast(embeddings, tf.float32)]
        for x in inner:
            x = tf.cast(x, tf.float32)
            space = list(range(1, x.shape.rank - 1))
            mean, variance = tf.nn.moments(x, axes=space)
            features += [mean, tf.sqrt(variance)]
        return (
            tf.stop_gradient(embeddings),
            tf.stop_gradient(tf.concat(features, axis=-1)),
        )

    return embed, width + 2 * sum(channels)


def _with_inner_layers(encoder) -> tuple[Callable, list[int]]:
    """Returns a function to embeddings and inner tensors; their channels."""
    found = []

    def record(layer, *args, **kwargs):
        output = layer(*args, **kwargs)
        found.append(output)
        return output

    if isinstance(encoder, keras.Sequential):
        (tensor,) = encoder.inputs
        inputs = output = keras.Input(
            batch_shape=tensor.shape, dtype=tensor.dtype, name=tensor.name
        )
        for layer in encoder.layers:
            output = record(layer, output)
    elif getattr(encoder, "operations", None):
        # A second graph of the same layers; no layer is copied.
        graph = keras.models.clone_model(
            encoder, clone_function=lambda layer: layer, call_function=record
        )
        inputs, output = graph.input, graph.output
    else:
        return lambda inputs: (encoder(inputs, training=False), []), []
    inner = {
        tuple(x.shape[1:-1]): x  # the last of its size
        for x in found
        if isinstance(x, keras.KerasTensor)
        and len(x.shape) > 2
        and keras.backend.is_float_dtype(x.dtype)
    }
    if not inner:  # Keras would return a tensor instead of a list of one
        return lambda inputs: (encoder(inputs, training=False), []), []
    model = keras.Model(inputs, [output, *inner.values()])

    def run(inputs):
        output, *inner = model(inputs, training=False)
        return output, inner

    return run, [x.shape[-1] for x in inner.values()]
