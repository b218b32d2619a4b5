"""The encoder of the colour and orientation experiment."""

import keras

from embeddings_tf.layers import PixelRange
from embeddings_tf.models.convolution_blocks import convolution_blocks
from embeddings_tf.models.fused_batch_normalization import (
    FusedBatchNormalization,
)
from embeddings_tf.models.prepare_for_replicas import prepare_for_replicas
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import truth


def colour_orientation_encoder(
    dim: int, *, gaussian: bool = True
) -> keras.Model:
    """The convolutional network of six blocks for coloured shapes.

    Use it for `datasets.load("colour_orientation", ...)` and other colour
    images of 64 x 64 pixels, 0 to 255.

    ```
    5 times: conv 3x3, 64 -> batch normalisation -> ReLU -> max-pool 2x2
    conv 3x3, dim filters, or 2 * dim -> max-pool 2x2 -> embedding
    ```

    Args:
        dim: Dimensions of the embedding.
        gaussian: True: ends in `GaussianEmbedding(dim, projection=False)`,
            output `(batch, 2 * dim)`. False: a point, `(batch, dim)`.

    Input shape: `(batch, 64, 64, 3)`.
    Output shape: `(batch, dim)`, or `(batch, 2 * dim)` with `gaussian`;
        float32 also under mixed precision.

    Returns:
        A functional `keras.Model` with input `image`.

    Raises:
        ValueError: If an argument is not as described.

    Reference:
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702),
          appendix: two blocks more than for Omniglot, because the images are
          larger. Their size and the 64 filters, missing from its text, are
          assumed; six poolings of 64 pixels leave one. Keras's momentum (.99)
          and epsilon (.001) of batch normalisation are ours.

    Example:

    >>> encoder = embeddings_tf.models.colour_orientation_encoder(2)
    >>> encoder.output_shape
    (None, 4)
    """
    dim = positive_integer("dim", dim)
    gaussian = truth("gaussian", gaussian)
    image = keras.Input((64, 64, 3), name="image")
    x = keras.layers.Rescaling(1 / 255)(PixelRange()(image))
    embedding = convolution_blocks(
        x,
        num_blocks=6,
        num_filters=64,
        dim=dim,
        gaussian=gaussian,
        uniform_biases=True,
        normalization=FusedBatchNormalization,
    )
    return prepare_for_replicas(
        keras.Model(image, embedding, name="colour_orientation_encoder")
    )
