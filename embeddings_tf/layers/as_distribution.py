"""Converts packed Gaussians to TFP distributions."""

import tensorflow as tf

from embeddings_tf.ops import gaussian


def as_distribution(packed):
    """Converts the output of `GaussianEmbedding` to a TFP distribution.

    Use it for sampling, log-densities, Kullback-Leibler divergences and
    entropies. Layers never return distributions, because Keras outputs must be
    tensors.

    Args:
        packed: `(..., 2 * dim)`, the mean and then the positive variance.
            Half precision becomes float32.

    Returns:
        `tfp.distributions.MultivariateNormalDiag` with batch shape `(...)`
        and event shape `(dim,)`.

    Raises:
        ValueError: If the last axis is not even, or `packed` is not an array
            of real numbers.

    Reference:
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702),
          Eq. 1.

    Example:

    >>> packed = np.array([[0.0, 1.0, 4.0, 9.0]], "float32")
    >>> embeddings_tf.layers.as_distribution(packed).stddev().numpy()
    array([[2., 3.]], dtype=float32)
    """
    parts = gaussian.unpack(packed)
    if parts[0].dtype.size < 4:
        parts = (tf.cast(part, tf.float32) for part in parts)
    return gaussian.diagonal_normal(*parts)
