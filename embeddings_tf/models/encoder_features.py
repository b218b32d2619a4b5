"""Features of an encoder for its uncertainty head."""

import inspect
from collections.abc import Callable

import keras
import tensorflow as tf

from embeddings_tf import compat

# Their argument `training` is for quantisation.
_EQUAL_IN_TRAINING = (
    keras.Sequential,
    keras.layers.Dense,
    keras.layers.EinsumDense,
)


def encoder_features(
    encoder, width: int, num_features: int | None = None
) -> tuple[Callable, int]:
    """Returns a function from inputs to embeddings and features.

    The features are the embedding, the logarithm of its norm, and four numbers
    of each channel of the inner layers:

    - mean, standard deviation and maximum over space;
    - difference of neighbouring pixels: largest minus smallest value of each
      block of 2 x 2 pixels, the mean over blocks. Blur makes it small, noise
      makes it large.

    The inner layers are, for each spatial size, the last layer of the encoder
    with that size. A functional or `Sequential` model has inner layers; any
    other layer or model has none. Layers inside nested models are not visited,
    nor sequences of any length, of which a part may be padding.

    Args:
        encoder: A built Keras model or layer.
        width: The last axis of its embeddings.
        num_features: Number of features of a trained head, or None.

    Returns:
        A function from inputs to embeddings `(batch, width)` and features
        `(batch, num_features)`, both in inference mode, features without
        gradient; and `num_features`.

    Raises:
        ValueError: If a head with `num_features` belongs to another encoder.
    """
    run, channels = _with_inner_layers(encoder)
    size = width + 1 + 4 * sum(channels)
    if num_features not in (None, size):
        raise ValueError(
            f"The uncertainty head was trained on {num_features} features; "
            f"this encoder has {size}. A head belongs to its encoder: give the "
            "model a new `UncertaintyHead()` and train it."
        )

    def embed(inputs):
        embeddings, inner = run(inputs)
        points = tf.cast(embeddings, tf.float32)
        features = [points, _log_norm(points)]
        for x in inner:
            features += _over_space(tf.cast(x, tf.float32))
        return embeddings, tf.stop_gradient(tf.concat(features, axis=-1))

    return embed, size


def differs_in_training(encoder) -> bool:
    """Whether embeddings in training may differ from those of inference.

    Batch normalisation and dropout differ. So may every layer whose `call` has
    the argument `training`, except models that only pass it on and layers that
    Keras gave it for other purposes.
    """
    return any(
        "training" in inspect.signature(layer.call).parameters
        for layer in compat.every_layer(encoder)
        if type(layer) not in _EQUAL_IN_TRAINING
        and not getattr(layer, "operations", None)
    )


def _log_norm(points) -> tf.Tensor:
    """Logarithms of norms `(batch, 1)`, of any finite points."""
    largest = tf.reduce_max(tf.abs(points), axis=-1, keepdims=True)
    largest = tf.maximum(largest, 1e-30)
    norm = tf.norm(points / largest, axis=-1, keepdims=True)
    return tf.math.log(largest) + tf.math.log(tf.maximum(norm, 1e-30))


def _over_space(x) -> list[tf.Tensor]:
    """Four numbers `(batch, channels)` of each channel of an inner layer."""
    space = list(range(1, x.shape.rank - 1))
    mean, variance = tf.nn.moments(x, axes=space)
    # Pooling is several times faster than differences of shifted tensors.
    largest = tf.nn.max_pool(x, 2, 2, "SAME")
    smallest = -tf.nn.max_pool(-x, 2, 2, "SAME")
    return [
        mean,
        tf.sqrt(variance),
        tf.reduce_max(largest, axis=space),
        tf.reduce_mean(largest - smallest, axis=space),
    ]


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
        and not (len(x.shape) == 3 and x.shape[1] is None)
        and keras.backend.is_float_dtype(x.dtype)
    }
    if not inner:  # Keras would return a tensor instead of a list of one
        return lambda inputs: (encoder(inputs, training=False), []), []
    model = keras.Model(inputs, [output, *inner.values()])

    def run(inputs):
        output, *inner = model(inputs, training=False)
        return output, inner

    return run, [x.shape[-1] for x in inner.values()]
