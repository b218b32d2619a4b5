"""From a packed Gaussian to a TFP distribution."""

import tensorflow as tf

from embeddings_tf.ops import gaussian


def as_distribution(packed):
    """Turns the output of `GaussianEmbedding` into a TFP distribution.

    Use it wherever a distribution says more than an array: sampling,
    log-densities, Kullback-Leibler divergences, entropies. Layers never
    return distributions, because Keras outputs must be tensors.

    Args:
        packed: `(..., 2 * dim)`, the mean and then the (positive) variance.

    Returns:
        `tfp.distributions.MultivariateNormalDiag` with batch shape `(...)`
        and event shape `(dim,)`.

    Raises:
        ValueError: If the last axis is not even.

    Reference:
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702),
          Eq. 1.

    Example:

    >>> packed = np.array([[0.0, 1.0, 4.0, 9.0]], "float32")
    >>> embeddings_tf.layers.as_distribution(packed).stddev().numpy()
    array([[2., 3.]], dtype=float32)
    """
    return gaussian.diagonal_normal(
        *gaussian.unpack(tf.convert_to_tensor(packed))
    )
