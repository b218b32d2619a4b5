"""The last block of the x-vector network."""

import keras

from embeddings_tf.ops.arguments import positive_integer


def x_vector_projection(dim: int = 256) -> keras.Sequential:
    """The last block of the x-vector network, after the embedding.

    Use it as `projection` of `embeddings_tf.objectives.LearnedDistance` with
    `x_vector_encoder`. Only the auxiliary classifier needs it, so it is not
    exported.

    ```
    dense 512 -> batch normalisation -> ReLU -> dense, dim
    ```

    Args:
        dim: Dimensions of the output.

    Input shape: `(batch, features)`, any number of features.
    Output shape: `(batch, dim)`, float32 also under mixed precision.

    Returns:
        A `keras.Sequential`, built at its first call.

    Raises:
        ValueError: If `dim` is not a positive integer.

    Reference:
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Table 3.
          From the authors' code: the last layer is linear, and weights are
          uniform within `1 / sqrt(fan_in)`. In the paper, batch normalisation
          and ReLU follow it. Its biases of 0 are ours.

    Example:

    >>> projection = embeddings_tf.models.x_vector_projection()
    >>> projection(np.ones((2, 512), "float32")).shape
    TensorShape([2, 256])
    """
    dim = positive_integer("dim", dim)

    def uniform():
        return keras.initializers.VarianceScaling(1 / 3, "fan_in", "uniform")

    return keras.Sequential(
        [
            keras.layers.Dense(
                512, use_bias=False, kernel_initializer=uniform()
            ),
            keras.layers.BatchNormalization(momentum=0.9, epsilon=1e-5),
            keras.layers.ReLU(),
            keras.layers.Dense(
                dim, kernel_initializer=uniform(), dtype="float32"
            ),
        ],
        name="x_vector_projection",
    )
