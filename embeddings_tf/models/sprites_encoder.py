"""The encoder of the sprites experiments."""

import keras

from embeddings_tf.layers import DimensionDropout
from embeddings_tf.layers import PixelRange
from embeddings_tf.models.embedding_layer import embedding_layer
from embeddings_tf.ops.arguments import fixed_image_shape
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import share
from embeddings_tf.ops.arguments import truth


def sprites_encoder(
    dim: int = 22,
    *,
    gaussian: bool = False,
    image_shape: tuple[int, int, int] = (60, 60, 3),
    width: int = 2048,
    initial_variance: float | None = None,
    dimension_dropout: float = 0.0,
) -> keras.Model:
    """The convolutional network for 60x60 images of game characters.

    Use it for `datasets.load("sprites")`. Pixels are 0 to 255; the encoder
    scales them, so an exported model works on the same images.

    ```
    conv 5x5, 64, stride 2 -> ReLU -> conv 5x5, 32, stride 2 -> ReLU
    -> dense 2048 -> ReLU -> embedding
    ```

    Args:
        dim: Dimensions of the embedding.
        gaussian: True: ends in `GaussianEmbedding(dim)`, output
            `(batch, 2 * dim)`, as `BetaVAE` needs it. False: a point,
            `(batch, dim)`.
        image_shape: `(height, width, channels)`, sides of at least 13.
        width: Units of the dense layer.
        initial_variance: As in `GaussianEmbedding`; only if `gaussian`.
        dimension_dropout: Rate of a `DimensionDropout` at the end; 0 for none.
            It must be 0 with `gaussian`.

    Output shape: `(batch, dim)`, or `(batch, 2 * dim)` with `gaussian`;
        float32 also under mixed precision.

    Returns:
        A functional `keras.Model` with input `image`.

    Raises:
        ValueError: If an argument is not as described, or
            `dimension_dropout` is combined with `gaussian`.

    Reference:
        - [Ridgeway & Mozer, 2018](https://arxiv.org/abs/1802.05312), after
          [Reed et al., 2015](https://papers.nips.cc/paper/5845); sizes,
          Glorot-uniform weights and biases of 0.01 (not of
          `GaussianEmbedding`) from the authors' code.

    Example:

    >>> encoder = embeddings_tf.models.sprites_encoder(2, width=8)
    >>> encoder.output_shape
    (None, 2)
    """
    dim = positive_integer("dim", dim)
    width = positive_integer("width", width)
    gaussian = truth("gaussian", gaussian)
    dimension_dropout = share("dimension_dropout", dimension_dropout)
    if gaussian and dimension_dropout:
        raise ValueError(
            "`dimension_dropout` drops dimensions of points, not of "
            f"Gaussians; received {dimension_dropout} with gaussian=True. "
            "Set one of the two to 0."
        )
    bias = keras.initializers.Constant(0.01)
    shape = fixed_image_shape(image_shape, smallest=13)
    image = keras.Input(shape, name="image")
    x = keras.layers.Rescaling(1 / 255)(PixelRange()(image))
    for filters in (64, 32):
        x = keras.layers.Conv2D(
            filters, 5, strides=2, activation="relu", bias_initializer=bias
        )(x)
    x = keras.layers.Flatten()(x)
    x = keras.layers.Dense(width, activation="relu", bias_initializer=bias)(x)
    head = embedding_layer(
        dim, gaussian, initial_variance, bias_initializer=bias
    )
    embedding = head(x)
    if dimension_dropout:
        embedding = DimensionDropout(dimension_dropout)(embedding)
    return keras.Model(image, embedding, name="sprites_encoder")
