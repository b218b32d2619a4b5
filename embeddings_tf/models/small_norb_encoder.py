"""The encoder of the small NORB experiments."""

import math

import keras

from embeddings_tf.layers import PixelRange
from embeddings_tf.ops.arguments import positive_integer


def small_norb_encoder(dim: int = 20) -> keras.Model:
    """The convolutional network for 96x96 grey images of toys.

    Use it for small NORB. Pixels are 0 to 255; the encoder scales them, so an
    exported model works on the same images.

    ```
    conv 7x7, 48, stride 2 -> ReLU -> conv 3x3, 64, stride 2 -> ReLU
    -> conv 3x3, 72, stride 2 -> ReLU -> embedding
    ```

    Args:
        dim: Dimensions of the embedding.

    Input shape: `(batch, 96, 96, 1)`.
    Output shape: `(batch, dim)`, float32 also under mixed precision.

    Returns:
        A functional `keras.Model` with input `image`.

    Raises:
        ValueError: If `dim` is not a positive integer.

    Reference:
        - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312); no
          padding, Glorot-uniform weights and biases of 0.01 from the
          authors' code, where biases of the embedding are uniform within
          `sqrt(6 / (2 sqrt(dim)))`.

    Example:

    >>> encoder = embeddings_tf.models.small_norb_encoder()
    >>> encoder.output_shape
    (None, 20)
    """
    dim = positive_integer("dim", dim)
    image = keras.Input((96, 96, 1), name="image")
    x = keras.layers.Rescaling(1 / 255)(PixelRange()(image))
    for filters, size in ((48, 7), (64, 3), (72, 3)):
        x = keras.layers.Conv2D(
            filters,
            size,
            strides=2,
            activation="relu",
            bias_initializer=keras.initializers.Constant(0.01),
        )(x)
    x = keras.layers.Flatten()(x)
    limit = math.sqrt(6 / (2 * math.sqrt(dim)))
    embedding = keras.layers.Dense(
        dim,
        bias_initializer=keras.initializers.RandomUniform(-limit, limit),
        name="embedding",
        dtype="float32",
    )(x)
    return keras.Model(image, embedding, name="small_norb_encoder")
