"""An encoder for images of your own."""

import keras

from embeddings_tf.layers import PixelRange
from embeddings_tf.models.embedding_layer import embedding_layer
from embeddings_tf.models.fused_batch_normalization import (
    FusedBatchNormalization,
)
from embeddings_tf.models.prepare_for_replicas import prepare_for_replicas
from embeddings_tf.ops.arguments import fixed_image_shape
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import truth

_MAX_BLOCKS = 4


def image_encoder(
    dim: int,
    *,
    image_shape: tuple[int, int, int],
    num_filters: int = 64,
    gaussian: bool = False,
    initial_variance: float | None = None,
) -> keras.Model:
    """A convolutional network of at most four blocks, for any small images.

    Use it to train on your own images from new weights, up to about 100 x 100
    pixels. Pixels are 0 to 255; the encoder scales them to -1 to 1, so an
    exported model works on the same images.

    ```
    up to 4 times: conv 3x3 -> batch normalisation -> ReLU -> max-pool 2x2
    -> dense embedding
    ```

    There are fewer blocks if the shorter side is shorter than 16 pixels.

    Args:
        dim: Dimensions of the embedding.
        image_shape: `(height, width, channels)`.
        num_filters: Filters of each block.
        gaussian: True: ends in `GaussianEmbedding(dim)`, output
            `(batch, 2 * dim)`. False: a point, `(batch, dim)`.
        initial_variance: As in `GaussianEmbedding`; only if `gaussian`.

    Output shape: `(batch, dim)`, or `(batch, 2 * dim)` with `gaussian`;
        float32 also under mixed precision.

    Returns:
        A functional `keras.Model` with input `image`.

    Raises:
        ValueError: If an argument is not as described, or `image_shape` has no
            height or width.

    Reference:
        - [Snell et al., 2017](https://arxiv.org/abs/1703.05175), whose blocks
          these are. The dense layer at the end is ours.

    Example:

    >>> shape = (32, 32, 3)
    >>> encoder = embeddings_tf.models.image_encoder(16, image_shape=shape)
    >>> encoder.output_shape
    (None, 16)
    """
    dim = positive_integer("dim", dim)
    num_filters = positive_integer("num_filters", num_filters)
    gaussian = truth("gaussian", gaussian)
    shape = fixed_image_shape(image_shape)
    image = keras.Input(shape, name="image")
    x = keras.layers.Rescaling(1 / 127.5, offset=-1)(PixelRange()(image))
    for _ in range(min(_MAX_BLOCKS, min(shape[:2]).bit_length() - 1)):
        x = keras.layers.Conv2D(
            num_filters, 3, padding="same", kernel_initializer="he_normal"
        )(x)
        x = keras.layers.ReLU()(FusedBatchNormalization()(x))
        x = keras.layers.MaxPooling2D(2)(x)
    x = keras.layers.Flatten()(x)
    head = embedding_layer(dim, gaussian, initial_variance)
    return prepare_for_replicas(
        keras.Model(image, head(x), name="image_encoder")
    )
