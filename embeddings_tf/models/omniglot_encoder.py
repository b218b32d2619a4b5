"""The encoder of the Omniglot experiments."""

import keras

from embeddings_tf.layers import PixelRange
from embeddings_tf.models.prepare_for_replicas import prepare_for_replicas
from embeddings_tf.ops.arguments import image_shape as checked_shape
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import truth


def omniglot_encoder(
    dim: int,
    *,
    image_shape: tuple[int, int, int] = (105, 105, 3),
    dark_ink: bool = True,
) -> keras.Model:
    """The convolutional network of four blocks for images of characters.

    Use it for `datasets.load("omniglot", ...)` and other ink on white paper.
    Pixels are 0 to 255 as they were scanned: inverting, so that ink is 1,
    and resizing to 28 x 28 happen inside.

    ```
    3 times: conv 3x3, 64 -> batch normalisation -> ReLU -> max-pool 2x2
    conv 3x3, dim filters -> max-pool 2x2 -> embedding
    ```

    Args:
        dim: Dimensions of the embedding.
        image_shape: `(height, width, channels)`; of several channels the
            first is used, since they are equal in Omniglot.
        dark_ink: Whether ink is dark on light paper, as in Omniglot; False
            for light on dark, as in MNIST.

    Returns:
        A functional `keras.Model` with input `image`.

    Reference:
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702),
          appendix: He-normal weights, no batch normalisation and no ReLU in
          the last block. Zero biases and 64 filters, which its text lost,
          and bilinear resizing with antialiasing are ours. The network is
          that of [Snell et al., 2017](https://arxiv.org/abs/1703.05175).

    Example:

    >>> encoder = embeddings_tf.models.omniglot_encoder(64)
    >>> encoder.output_shape
    (None, 64)
    """
    dim = positive_integer("dim", dim)
    dark_ink = truth("dark_ink", dark_ink)
    image = keras.Input(checked_shape(image_shape), name="image")
    scale, offset = (-1 / 255, 1.0) if dark_ink else (1 / 255, 0.0)
    x = keras.layers.Rescaling(scale, offset=offset)(PixelRange()(image))[
        ..., :1
    ]
    x = keras.layers.Resizing(28, 28, antialias=True)(x)
    for _ in range(3):
        x = keras.layers.Conv2D(
            64, 3, padding="same", kernel_initializer="he_normal"
        )(x)
        x = keras.layers.BatchNormalization()(x)
        x = keras.layers.MaxPooling2D(2)(keras.layers.ReLU()(x))
    x = keras.layers.Conv2D(
        dim, 3, padding="same", kernel_initializer="he_normal"
    )(x)
    embedding = keras.layers.Flatten(name="embedding", dtype="float32")(
        keras.layers.MaxPooling2D(2)(x)
    )
    return prepare_for_replicas(
        keras.Model(image, embedding, name="omniglot_encoder")
    )
