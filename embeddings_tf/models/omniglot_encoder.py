"""The encoder of the Omniglot experiments."""

import keras

from embeddings_tf.layers import PixelRange
from embeddings_tf.models.convolution_blocks import convolution_blocks
from embeddings_tf.models.fused_batch_normalization import (
    FusedBatchNormalization,
)
from embeddings_tf.models.prepare_for_replicas import prepare_for_replicas
from embeddings_tf.models.uncompiled_resizing import UncompiledResizing
from embeddings_tf.ops.arguments import checked_shape
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import truth

_SIZE = 28


def omniglot_encoder(
    dim: int,
    *,
    image_shape: tuple[int, int, int] = (105, 105, 3),
    dark_ink: bool = True,
    num_filters: int = 64,
    gaussian: bool = False,
    uniform_biases: bool = False,
    fused: bool = False,
) -> keras.Model:
    """The convolutional network of four blocks for images of characters.

    Use it for `datasets.load("omniglot", ...)` and other ink on white paper,
    and with `image_shape=(28, 28, 1), dark_ink=False` for
    `datasets.load("omniglot_rotations", ...)`. Pixels are 0 to 255; inverting,
    so that ink is 1, and resizing to 28 x 28 happen inside.

    ```
    3 times: conv 3x3 -> batch normalisation -> ReLU -> max-pool 2x2
    conv 3x3 -> max-pool 2x2 -> embedding
    ```

    The first three blocks have `num_filters` filters, the last has `dim` for
    points and `2 * dim` for Gaussians: means, and variances before the
    softplus.

    Args:
        dim: Dimensions of the embedding.
        image_shape: `(height, width, channels)`; of several channels the
            first is used, since they are equal in Omniglot.
        dark_ink: Whether ink is dark on light paper, as in Omniglot; False
            for light on dark, as in MNIST and `omniglot_rotations`.
        num_filters: Filters of each of the first three blocks.
        gaussian: True: ends in `GaussianEmbedding(dim, projection=False)`,
            output `(batch, 2 * dim)`. False: a point, `(batch, dim)`.
        uniform_biases: True: biases start uniform in
            `+-1 / sqrt(inputs of a filter)`. False: they start at zero.
        fused: Whether batch normalisation is one kernel in training, which
            halves the time of a step on a CPU and rounds differently.

    Output shape: `(batch, dim)`, or `(batch, 2 * dim)` with `gaussian`;
        float32 also under mixed precision.

    Returns:
        A functional `keras.Model` with input `image`.

    Raises:
        ValueError: If an argument is not as described.

    Reference:
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702),
          appendix: He-normal weights, uniform biases, no batch normalisation
          and no ReLU in the last block. The bounds of the biases and the 64
          filters, missing from its text, are assumed: PyTorch's default and
          [Snell et al., 2017](https://arxiv.org/abs/1703.05175), whose
          network it is. Bilinear resizing with antialiasing, and Keras's
          momentum (.99) and epsilon (.001) of batch normalisation, are ours.

    Example:

    >>> encoder = embeddings_tf.models.omniglot_encoder(64)
    >>> encoder.output_shape
    (None, 64)
    """
    dim = positive_integer("dim", dim)
    num_filters = positive_integer("num_filters", num_filters)
    gaussian = truth("gaussian", gaussian)
    dark_ink = truth("dark_ink", dark_ink)
    uniform_biases = truth("uniform_biases", uniform_biases)
    normalization = (
        FusedBatchNormalization
        if truth("fused", fused)
        else keras.layers.BatchNormalization
    )
    shape = checked_shape(image_shape)
    image = keras.Input(shape, name="image")
    scale, offset = (-1 / 255, 1.0) if dark_ink else (1 / 255, 0.0)
    x = keras.layers.Rescaling(scale, offset=offset)(PixelRange()(image))[
        ..., :1
    ]
    if shape[:2] != (_SIZE, _SIZE):
        x = UncompiledResizing(_SIZE, _SIZE, antialias=True)(x)
    embedding = convolution_blocks(
        x,
        num_blocks=4,
        num_filters=num_filters,
        dim=dim,
        gaussian=gaussian,
        uniform_biases=uniform_biases,
        normalization=normalization,
    )
    return prepare_for_replicas(
        keras.Model(image, embedding, name="omniglot_encoder")
    )
