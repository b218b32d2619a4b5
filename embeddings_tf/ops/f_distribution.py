"""The F distribution with one numerator degree of freedom, in log space.

A statistic `s ~ F(1, freedom)` enters as `ratio = s / freedom`: the sum of
squares between two groups divided by the sum of squares within them. Tensors
are float64 in and out. `ratio` is positive and finite. `freedom` is positive
and broadcasts to the shape of `ratio`.
"""

import numpy as np
import tensorflow as tf

# Close to the median of F(1, n) for all n. The tail beyond it is at most
# 0.63, so its complement is accurate.
_MEDIAN = 0.455


def log_cdf(ratio: tf.Tensor, freedom: tf.Tensor) -> tf.Tensor:
    """`ln P(S < s)`, accurate for hugely negative values and close to 0.

    Formula: `ln I_x(1/2, freedom / 2)` with `x = ratio / (1 + ratio)`.
    """
    return log_cdf_and_slope(ratio, freedom)[0]


def log_cdf_and_slope(
    ratio: tf.Tensor, freedom: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """`log_cdf` and its derivative in `ln ratio`.

    Formula of the derivative: `sqrt(x) (1 - x)^(freedom / 2) /
    (B(1/2, freedom / 2) P(S < s))`, with `x` as in `log_cdf`.
    """
    is_lower, tail = _tail(ratio, freedom)
    # Written as a product, because TensorFlow fuses a negation and a
    # logarithm into one slower operation.
    log = tf.where(is_lower, tf.math.log(tail), tf.math.log1p(-1 * tail))
    half, y = freedom / 2, 1 / (1 + ratio)
    density = tf.sqrt(ratio * y)
    density *= tf.exp(-half * tf.math.log1p(ratio) - _log_beta(half))
    return log, density / tf.where(is_lower, tail, 1 - tail)


def log_sf(ratio: tf.Tensor, freedom: tf.Tensor) -> tf.Tensor:
    """`ln P(S > s)`, accurate also where `P(S > s)` underflows.

    Formula: `ln I_y(freedom / 2, 1/2)` with `y = 1 / (1 + ratio)`. Near the end
    of the range of floats, its continued fraction to the third level is used:
    there `y` or `1 / freedom` is so small that the rest is negligible.
    """
    half, y = freedom / 2, 1 / (1 + ratio)
    is_lower, tail = _tail(ratio, freedom)
    third = -(half + 1) * (half + 1.5) * y / ((half + 2) * (half + 3))
    second = -0.5 * y / ((half + 1) * (half + 2)) / (1 + third)
    first = -(half + 0.5) * y / (half + 1) / (1 + second)
    far = log_density(ratio, freedom) - tf.math.log(half)
    far -= tf.math.log1p(first)
    upper = tf.where(tail < 1e-290, far, tf.math.log(tail))
    return tf.where(is_lower, tf.math.log1p(-tail), upper)


def log_density(ratio: tf.Tensor, freedom: tf.Tensor) -> tf.Tensor:
    """`ln (d P(S < s) / d ln ratio)`.

    The derivatives of `log_cdf` and `log_sf` in the logarithm of `ratio` are
    bounded, by 1/2 and by `freedom / 2`.
    """
    half = freedom / 2
    log_sum = tf.math.log1p(ratio)
    log_density = 0.5 * tf.math.log(ratio) - (half + 0.5) * log_sum
    return log_density - _log_beta(half)


def _log_beta(half):
    """`ln B(1/2, half)`."""
    log_gammas = tf.math.lgamma(half) - tf.math.lgamma(half + 0.5)
    return 0.5 * np.log(np.pi) + log_gammas


def _tail(ratio, freedom):
    """Returns whether the tail is P(S < s) (else P(S > s)), and the tail.

    Formula of P(S > s): `I_y(n/2, 1/2) = 2 I_u(n/2, n/2)` with
    `u = (1 - sqrt(1 - y)) / 2`, which converges faster.
    """
    # A sum broadcasts even if XLA knows no shape, unlike tf.broadcast_to.
    half = freedom / 2 + 0 * ratio
    y = 1 / (1 + ratio)
    x = ratio * y
    is_lower = ratio * freedom < _MEDIAN
    u = y / (2 + 2 * tf.sqrt(x))
    one_half = tf.constant(0.5, ratio.dtype)
    tail = tf.math.betainc(
        tf.where(is_lower, one_half, half), half, tf.where(is_lower, x, u)
    )
    return is_lower, tf.where(is_lower, tail, 2 * tail)


def welch_freedom(
    variance_a: tf.Tensor,
    variance_b: tf.Tensor,
    freedom_a: tf.Tensor,
    freedom_b: tf.Tensor,
) -> tf.Tensor:
    """Welch-Satterthwaite degrees of freedom of a difference of two means.

    Formula, for squared standard errors `v > 0` with `f` degrees of freedom:

        (v_a + v_b)^2 / (v_a^2 / f_a + v_b^2 / f_b)
    """
    share = variance_a / (variance_a + variance_b)
    return 1 / (share**2 / freedom_a + (1 - share) ** 2 / freedom_b)
