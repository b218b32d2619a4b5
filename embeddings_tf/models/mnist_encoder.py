"""The encoder of MNIST digits as points of a plane."""

import keras

from embeddings_tf.layers import PixelRange
from embeddings_tf.ops.arguments import fixed_image_shape
from embeddings_tf.ops.arguments import positive_integer


def mnist_encoder(
    dim: int = 2, *, image_shape: tuple[int, int, int] = (28, 28, 1)
) -> keras.Model:
    """A small convolutional network for images of single digits.

    Use it to draw an embedding of MNIST without a projection. Pixels are 0 to
    255; the encoder scales them, so an exported model works on the same images.

    ```
    conv 5x5, 32 -> ReLU -> max-pool 2x2 -> conv 5x5, 64 -> ReLU
    -> max-pool 2x2 -> dense 128 -> ReLU -> embedding
    ```

    Args:
        dim: Dimensions of the embedding.
        image_shape: `(height, width, channels)`, sides of at least 4.

    Output shape: `(batch, dim)`, float32 also under mixed precision.

    Returns:
        A functional `keras.Model` with input `image`.

    Raises:
        ValueError: If an argument is not as described.

    Reference:
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Fig. 2,
          shows such an embedding, trained without an auxiliary classifier.
          Neither the paper nor its code describes the network: layers, sizes,
          padding and Keras's initial weights are ours.

    Example:

    >>> encoder = embeddings_tf.models.mnist_encoder()
    >>> encoder.output_shape
    (None, 2)
    """
    dim = positive_integer("dim", dim)
    shape = fixed_image_shape(image_shape, smallest=4)
    image = keras.Input(shape, name="image")
    x = keras.layers.Rescaling(1 / 255)(PixelRange()(image))
    for filters in (32, 64):
        x = keras.layers.Conv2D(filters, 5, padding="same", activation="relu")(
            x
        )
        x = keras.layers.MaxPooling2D(2)(x)
    x = keras.layers.Flatten()(x)
    x = keras.layers.Dense(128, activation="relu")(x)
    embedding = keras.layers.Dense(dim, name="embedding", dtype="float32")(x)
    return keras.Model(image, embedding, name="mnist_encoder")
