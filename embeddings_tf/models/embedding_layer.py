"""The last layer of encoders."""

import keras

from embeddings_tf.layers import GaussianEmbedding
from embeddings_tf.models.gaussian_output import require_gaussian


def embedding_layer(
    dim: int,
    gaussian: bool,
    initial_variance: float | None = None,
    *,
    bias_initializer="zeros",
) -> keras.layers.Layer:
    """Returns a dense layer of Gaussians or points, float32, "embedding".

    Args:
        dim: Dimensions of the embedding.
        gaussian: Whether it is a `GaussianEmbedding`, or `Dense`.
        initial_variance: As in `GaussianEmbedding`; only if `gaussian`.
        bias_initializer: As in `keras.layers.Dense`; only of points.

    Raises:
        ValueError: For an `initial_variance` of points.
    """
    require_gaussian(gaussian, initial_variance)
    if gaussian:
        return GaussianEmbedding(
            dim, initial_variance=initial_variance, name="embedding"
        )
    # Half precision would round the embedding.
    return keras.layers.Dense(
        dim,
        bias_initializer=bias_initializer,
        name="embedding",
        dtype="float32",
    )
