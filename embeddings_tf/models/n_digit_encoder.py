"""The encoder of the n-digit experiments."""

import keras

from embeddings_tf.layers import PixelRange
from embeddings_tf.models.embedding_layer import embedding_layer
from embeddings_tf.ops.arguments import fixed_image_shape
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import truth


def n_digit_encoder(
    dim: int,
    *,
    gaussian: bool = True,
    image_shape: tuple[int, int, int] = (28, 56, 1),
    initial_variance: float | None = None,
) -> keras.Model:
    """The small convolutional network for images of n digits.

    Use it for `datasets.load("n_digit/...")`. Pixels are 0 to 255; the encoder
    scales them, so an exported model works on the same images.

    ```
    conv 5x5, 6 -> ReLU -> max-pool 2x2 -> conv 5x5, 16 -> ReLU
    -> max-pool 2x2 -> dense 120 -> ReLU -> embedding
    ```

    Args:
        dim: Dimensions of the embedding.
        gaussian: True: ends in `GaussianEmbedding(dim)`, output
            `(batch, 2 * dim)`. False: a point, `(batch, dim)`.
        image_shape: `(height, width, channels)`, `(28, 28 * n, 1)` for MNIST
            and `(8, 8 * n, 1)` for scikit-learn's digits. Sides of at least 4.
        initial_variance: As in `GaussianEmbedding`; only if `gaussian`.

    Output shape: `(batch, dim)`, or `(batch, 2 * dim)` with `gaussian`;
        float32 also under mixed precision.

    Returns:
        A functional `keras.Model` with input `image`.

    Raises:
        ValueError: If an argument is not as described.

    Reference:
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702),
          appendix; sizes from the code of
          [Oh et al., 2019](https://arxiv.org/abs/1810.00319) as reused by the
          same authors. Glorot-uniform weights, zero biases, no batch
          normalisation.

    Example:

    >>> encoder = embeddings_tf.models.n_digit_encoder(2)
    >>> encoder.output_shape
    (None, 4)
    """
    dim = positive_integer("dim", dim)
    gaussian = truth("gaussian", gaussian)
    shape = fixed_image_shape(image_shape, smallest=4)
    image = keras.Input(shape, name="image")
    x = keras.layers.Rescaling(1 / 255)(PixelRange()(image))
    for filters in (6, 16):
        x = keras.layers.Conv2D(filters, 5, padding="same", activation="relu")(
            x
        )
        x = keras.layers.MaxPooling2D(2)(x)
    x = keras.layers.Flatten()(x)
    x = keras.layers.Dense(120, activation="relu")(x)
    head = embedding_layer(dim, gaussian, initial_variance)
    return keras.Model(image, head(x), name="n_digit_encoder")
