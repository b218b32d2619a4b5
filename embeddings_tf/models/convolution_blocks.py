"""The blocks of the encoders of Scott et al. 2019 for Omniglot and colours."""

import math

import keras

from embeddings_tf.layers import GaussianEmbedding


def convolution_blocks(
    x,
    num_blocks: int,
    num_filters: int,
    dim: int,
    gaussian: bool,
    uniform_biases: bool,
    normalization,
):
    """Computes embeddings of images; each block halves each side.

    ```
    all blocks but the last: conv 3x3, num_filters -> normalization -> ReLU
                             -> max-pool 2x2
    last block:              conv 3x3, dim or 2 * dim filters -> max-pool 2x2
    ```

    Args:
        x: Images `(batch, height, width, channels)`, pixels about 0 to 1. One
            pixel must be left after the last block.
        num_blocks: Number of blocks.
        num_filters: Filters of each block but the last.
        dim: Dimensions of the embedding.
        gaussian: Whether the output is a Gaussian or a point.
        uniform_biases: Whether biases start in `+-1 / sqrt(inputs of a
            filter)`, or at zero.
        normalization: Class of the layers of batch normalisation.
    """
    for _ in range(num_blocks - 1):
        x = _convolution(x, num_filters, uniform_biases)
        x = normalization()(x)
        x = keras.layers.MaxPooling2D(2)(keras.layers.ReLU()(x))
    # Half precision would round the embedding.
    width = 2 * dim if gaussian else dim
    x = _convolution(x, width, uniform_biases, dtype="float32")
    x = keras.layers.MaxPooling2D(2, dtype="float32")(x)
    if gaussian:
        head = GaussianEmbedding(dim, projection=False, name="embedding")
        return head(keras.layers.Flatten(dtype="float32")(x))
    return keras.layers.Flatten(name="embedding", dtype="float32")(x)


def _convolution(x, filters: int, uniform_biases: bool, dtype=None):
    bound = 1 / math.sqrt(9 * x.shape[-1])
    return keras.layers.Conv2D(
        filters,
        3,
        padding="same",
        kernel_initializer="he_normal",
        bias_initializer=(
            keras.initializers.RandomUniform(-bound, bound)
            if uniform_biases
            else "zeros"
        ),
        dtype=dtype,
    )(x)
