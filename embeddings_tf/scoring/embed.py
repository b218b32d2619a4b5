"""Embeddings of arrays, images and utterances."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from embeddings_tf.datasets import Utterances
from embeddings_tf.models.embed_batch import checked_embeddings
from embeddings_tf.models.embed_batch import embed_batch
from embeddings_tf.models.embed_batch import num_inputs
from embeddings_tf.models.embed_batch import require_finite
from embeddings_tf.models.input_shape import require_input_shape
from embeddings_tf.models.require_embeddings import require_embeddings
from embeddings_tf.ops.arguments import function
from embeddings_tf.ops.arguments import keras_layer
from embeddings_tf.ops.arguments import positive_integer


def embed(
    model,
    x,
    *,
    batch_size: int = 256,
    progress: Callable[[int], object] | None = None,
) -> np.ndarray:
    """Embeds inputs with a trained model, in batches.

    Use it before `Gallery`, `NearestNeighbors` and `Verifier` if the same
    inputs are used more than once: pass the result with `embedded=True`.
    Unlike `model.predict`, it takes `datasets.Images`, which are read batch by
    batch, and `datasets.Utterances`, each embedded at its full length. It
    refuses inputs and embeddings with NaN, and negative variances.

    Args:
        model: A Keras model of embeddings.
        x: Inputs `(n, ...)`, or anything with `x[first:last]` and a length.
        batch_size: Number of inputs embedded at once.
        progress: Function called after each batch with the number of inputs
            embedded since the last call, such as
            `keras.utils.Progbar(len(x)).add`.

    Returns:
        `(n, dim)`, or packed Gaussians `(n, 2 * dim)`; float32 also for a
        model that ends in half precision.

    Raises:
        ValueError: If there are no inputs, they do not have the model's shape,
            an input or an embedding is not finite, a Gaussian embedding has a
            negative variance, or the model does not return one matrix.

    Example:

    >>> encoder = keras.Sequential([keras.Input((2,)), keras.layers.Identity()])
    >>> embeddings_tf.scoring.embed(encoder, np.eye(2, dtype="float32"))
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    model = keras_layer("model", model)
    batch_size = positive_integer("batch_size", batch_size)
    if progress is not None:
        progress = function("progress", progress, "the number of inputs")
    length = num_inputs("x", x)
    if not length:
        raise ValueError("`x` must have at least one input; received none.")
    if isinstance(x, Utterances):
        batches = _utterances(model, x)
    else:
        batches = (
            embed_batch("x", model, x, slice(first, first + batch_size))
            for first in range(0, length, batch_size)
        )
    found = []
    for embeddings in batches:
        found.append(embeddings)
        if progress is not None:
            progress(len(embeddings))
    return np.concatenate(found)


def _utterances(model, utterances):
    """Yields the embedding of each utterance, `(1, dim)`."""
    example = utterances[0]
    require_input_shape("x", example[np.newaxis], model)

    # Traced once for all lengths, without XLA, which compiles each length.
    @tf.function(
        input_signature=[
            tf.TensorSpec((1, None, *example.shape[1:]), example.dtype)
        ],
        autograph=False,
    )
    def forward(utterance):
        return model(utterance, training=False)

    for number in range(len(utterances)):
        utterance = utterances[number][np.newaxis]
        require_finite("Input", utterance, number)
        found = forward(utterance)
        require_embeddings(found)
        yield checked_embeddings(model, found.numpy(), number)
