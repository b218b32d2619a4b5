"""Diagonal Gaussians packed into one tensor; only this file knows the order.

A packed Gaussian is `(..., 2 * dim)`: the mean, then the variance.
"""

import math

import numpy as np
import tensorflow as tf

from embeddings_tf.ops.numerics import mean_or_zero
from embeddings_tf.ops.seed_pair import seed_pair
from embeddings_tf.ops.tensors import real_floats

# The inverse and the gradient of the root of this variance fit in float32.
SMALLEST_VARIANCE = 1e-37


def pack(mean: tf.Tensor, variance: tf.Tensor) -> tf.Tensor:
    """Joins mean and variance, each `(..., dim)`, into `(..., 2 * dim)`."""
    return tf.concat([mean, variance], axis=-1)


def unpack(packed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Splits `(..., 2 * dim)` into mean and variance, each `(..., dim)`."""
    packed = real_floats("Gaussians", packed, tf.float32)
    width = None if packed.shape.rank == 0 else packed.shape[-1]
    if not width or width % 2:
        raise ValueError(
            "A packed Gaussian must have an even last axis, mean and variance "
            f"side by side; received shape {packed.shape}. Let the "
            "encoder end in `embeddings_tf.layers.GaussianEmbedding(dim)`."
        )
    mean, variance = tf.split(packed, 2, axis=-1)
    return mean, variance


def mean_part(packed: np.ndarray) -> np.ndarray:
    """Returns the means `(..., dim)` of an array `(..., 2 * dim)`."""
    return packed[..., : packed.shape[-1] // 2]


def dim_of(reader: str, shape) -> int:
    """`dim` of packed Gaussians `(batch, 2 * dim)`.

    Raises:
        ValueError: If `shape` is of other embeddings; `reader` is the class
            that reads them.
    """
    width = shape[-1]
    if not width or width % 2:
        raise ValueError(
            f"{reader} reads packed Gaussians (batch, 2 * dim), with a dim of "
            f"at least 1; received embeddings of shape {tuple(shape)}. Let the "
            "encoder end in GaussianEmbedding(dim)."
        )
    return width // 2


def mark(packed: tf.Tensor) -> tf.Tensor:
    """Marks a tensor as Gaussian, so that `require_points` refuses it.

    The mark is an attribute of the Python object, like Keras's masks. A loss
    finds it on the output of a model's last layer, eagerly and in graphs.
    Tensors computed from the output do not have it.
    """
    packed._embeddings_tf_is_gaussian = True
    return packed


def require_points(embeddings) -> None:
    """Raises ValueError if embeddings are marked as Gaussians by `mark`."""
    if getattr(embeddings, "_embeddings_tf_is_gaussian", False):
        raise ValueError(
            "This loss compares points; received Gaussians, the output of a "
            "GaussianEmbedding, whose variances would count as "
            "coordinates. End the model with a layer of points, such as "
            "keras.layers.Dense(dim), or train it with an objective that "
            "reads Gaussians, such as StochasticPrototypes."
        )


def unpack_valid(packed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """`unpack`, with NaN for invalid negative variances."""
    mean, variance = unpack(packed)
    nothing = tf.constant(float("nan"), variance.dtype)
    return mean, tf.where(variance < 0, nothing, variance)


def unpack_positive(packed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """`unpack_valid`, with variances from 0 to 1e-37 raised to 1e-37.

    The gradient of a raised variance is 0.
    """
    mean, variance = unpack_valid(packed)
    return mean, tf.maximum(variance, SMALLEST_VARIANCE)


def diagonal_normal(mean: tf.Tensor, variance: tf.Tensor):
    """Returns the TFP distribution `N(mean, diag(variance))`."""
    import tensorflow_probability as tfp

    return tfp.distributions.MultivariateNormalDiag(
        loc=mean, scale_diag=tf.sqrt(variance)
    )


def log_density(difference: tf.Tensor, variance: tf.Tensor) -> tf.Tensor:
    """`ln N(difference; 0, diag(variance))`, over the last axis."""
    exponent = tf.square(difference) / variance
    return -0.5 * tf.reduce_sum(
        exponent + tf.math.log(2 * math.pi * variance), axis=-1
    )


def standard_normal(
    num_samples: int, dim: int, seed, dtype, *, stream: int | None = None
) -> tf.Tensor:
    """Draws `(num_samples, dim)` that depend only on the seed.

    Scaled by the standard deviations of any number of rows, they are samples
    of each row that do not depend on the other rows. `seed` is an int or
    integers `(2,)`. A `stream` gives other samples for the same seed.

    A seed that is known when a graph is traced gives a constant: converters to
    other engines know no random operations.
    """
    seed = seed_pair(seed, True)

    def draw(seed):
        if stream is not None:
            seed = tf.random.experimental.stateless_fold_in(
                seed, stream, alg="philox"
            )
        return tf.random.stateless_normal(
            (num_samples, dim), seed, dtype=dtype, alg="philox"
        )

    known = None if tf.executing_eagerly() else tf.get_static_value(seed)
    if known is None:
        return draw(seed)
    with tf.init_scope():
        drawn = draw(tf.constant(known))
    return tf.constant(drawn.numpy()) if hasattr(drawn, "numpy") else drawn


def kl_to_standard_normal(mean: tf.Tensor, variance: tf.Tensor) -> tf.Tensor:
    """`KL(N(mean, diag(variance)) || N(0, I))` in nats, `(...,)`."""
    return 0.5 * tf.reduce_sum(
        tf.square(mean) + variance - 1.0 - tf.math.log(variance), axis=-1
    )


def weighted_divergence(
    mean: tf.Tensor, variance: tf.Tensor, weight: float
) -> tf.Tensor:
    """Returns `weight` times the mean of `kl_to_standard_normal` over rows.

    The result is 0 without rows. It is clipped to the range of the dtype, and
    its gradient is the gradient before it was clipped.
    """
    # Squares of embeddings above 1e19 overflow float32.
    exact = (tf.cast(part, tf.float64) for part in (mean, variance))
    divergence = weight * mean_or_zero(kl_to_standard_normal(*exact))
    limits = float(mean.dtype.min), float(mean.dtype.max)
    clip = tf.grad_pass_through(lambda x: tf.clip_by_value(x, *limits))
    return tf.cast(clip(divergence), mean.dtype)


def posterior(
    mean: tf.Tensor,
    variance: tf.Tensor,
    class_ids: tf.Tensor,
    num_classes: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """The product of each class's Gaussians: precision-weighted means.

    Formula, for the rows `i` of class `y`:

        variance_y = 1 / sum_i 1 / variance_i
        mean_y     = variance_y * sum_i mean_i / variance_i

    `mean` and `variance` are `(n, dim)`, `class_ids` `(n,)`; every class has
    a row. Returns `(num_classes, dim)` each. Precisions are divided by the
    largest precision of their class before they are added, to avoid overflow.
    """
    precision = 1.0 / variance
    largest = tf.stop_gradient(
        tf.math.unsorted_segment_max(precision, class_ids, num_classes)
    )
    relative = precision / tf.gather(largest, class_ids)
    total = tf.math.unsorted_segment_sum(relative, class_ids, num_classes)
    share = relative / tf.gather(total, class_ids)
    posterior_mean = tf.math.unsorted_segment_sum(
        share * mean, class_ids, num_classes
    )
    return posterior_mean, 1.0 / total / largest


def product(
    first: tuple[tf.Tensor, tf.Tensor], second: tuple[tf.Tensor, tf.Tensor]
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns mean and variance of the normalised product of two Gaussians."""
    (mean_a, variance_a), (mean_b, variance_b) = first, second
    share = variance_a / (variance_a + variance_b)
    return mean_a + share * (mean_b - mean_a), share * variance_b
