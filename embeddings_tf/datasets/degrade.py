"""Degrades images in one of several ways, by a chosen strength."""

import math

import tensorflow as tf

from embeddings_tf.datasets.checked_images import checked_images
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.seed_pair import seed_pair
from embeddings_tf.ops.tensors import real_numbers

# Standard deviation of blur and noise at strength 1: a share of the shorter
# side, and grey levels.
BLUR_SHARE = 1 / 8
NOISE_LEVEL = 128.0


def degrade(images, kind: str, strength, seed) -> tf.Tensor:
    """Degrades images in a given way: hides, dims, blurs, mixes them.

    Use it to test whether an uncertainty rises with the damage to an image,
    and to measure accuracy on damaged images. For training, use
    `degrade_randomly`.

    | kind | effect at strength s |
    |---|---|
    | `"occlusion"` | a black rectangle hides a share s of the pixels |
    | `"stripes"` | parallel black stripes hide a share s of the pixels |
    | `"contrast"` | pixels move by a share s towards the image's mean |
    | `"brightness"` | pixels move by a share s towards black or white |
    | `"pixelation"` | squares of up to half the shorter side are averaged |
    | `"zooming_out"` | the image shrinks by up to 80 %, on black |
    | `"waves"` | rows move left and right by up to a quarter of the width |
    | `"mixing"` | another image of the batch is mixed in, at most half |
    | `"blur"` | Gaussian blur, up to an eighth of the shorter side |
    | `"noise"` | Gaussian noise is added, up to 128 grey levels |

    Position, direction and period are random. An image with strength 0 does
    not change. Pixels are 0 to 255, and the result is clipped to this range.

    Args:
        images: Tensor or array of any numeric dtype, with values 0 to 255, of
            shape `(batch, height, width, channels)`. Height and width must be
            known when a graph is traced.
        kind: The way, from the table above.
        strength: A number in `[0, 1]`, or one for each image, `(batch,)`.
        seed: Integers of shape `(2,)`. The result is a pure function of the
            images, the strength and the seed.

    Returns:
        Tensor with the shape and the dtype of `images`; integers are rounded.

    Raises:
        ValueError: If an argument is not as described.

    Reference:

    - [Hendrycks & Dietterich, 2019](https://arxiv.org/abs/1903.12261),
      benchmarks with corruptions of graded severity

    Example:

    >>> images = tf.fill((2, 32, 32, 3), 200.0)
    >>> dark = embeddings_tf.datasets.degrade(images, "stripes", 0.5, (0, 1))
    >>> bool(tf.reduce_mean(dark) < 130)
    True
    """
    images = checked_images(images)
    kind = one_of("kind", kind, (*KINDS,))
    batch = tf.shape(images)[0]
    strength = real_numbers("`strength`", strength, tf.float32)
    if strength.shape.rank != 0 and not strength.shape.is_compatible_with(
        images.shape[:1]
    ):
        raise ValueError(
            "`strength` must be a number or one for each image, (batch,); "
            f"received shape {strength.shape} and images {images.shape}."
        )
    known = tf.get_static_value(strength)
    if known is not None and not ((known >= 0) & (known <= 1)).all():
        raise ValueError(
            f"`strength` must be between 0 and 1; received {known!r}."
        )
    strength = tf.broadcast_to(strength, [batch])
    pixels = tf.cast(images, tf.float32)
    seed = seed_pair(seed)
    uniform = tf.random.stateless_uniform((batch, 4), seed, alg="philox")
    draws = [tf.reshape(u, (-1, 1, 1, 1)) for u in tf.unstack(uniform, axis=1)]
    share = strength[:, tf.newaxis, tf.newaxis, tf.newaxis]
    changed = KINDS[kind](pixels, share, draws, seed)
    changed = tf.clip_by_value(changed, 0.0, 255.0)
    if not images.dtype.is_floating:
        changed = tf.round(changed)
    changed = tf.cast(changed, images.dtype)
    result = tf.where(share > 0, changed, images)
    return tf.ensure_shape(result, images.shape)


def _occlusion(x, share, draws, seed):
    """A rectangle of area `share`, of any shape that fits, anywhere."""
    rows, columns = _coordinates(x)
    height = share ** draws[0]
    width = tf.math.divide_no_nan(share, height)
    top, left = draws[1] * (1 - height), draws[2] * (1 - width)
    is_hidden = (rows >= top) & (rows < top + height)
    is_hidden &= (columns >= left) & (columns < left + width)
    return tf.where(is_hidden, 0.0, x)


def _stripes(x, share, draws, seed):
    height, width = x.shape[1:3]
    rows, columns = _coordinates(x)
    angle = math.pi * draws[0]
    across = rows * height * tf.cos(angle) + columns * width * tf.sin(angle)
    period = 2 + draws[1] * (min(height, width) / 2)
    return tf.where((across / period + draws[2]) % 1 < share, 0.0, x)


def _contrast(x, share, draws, seed):
    mean = tf.reduce_mean(x, axis=(1, 2, 3), keepdims=True)
    return x + share * (mean - x)


def _brightness(x, share, draws, seed):
    return x + share * (tf.where(draws[0] < 0.5, 0.0, 255.0) - x)


def _pixelation(x, share, draws, seed):
    side = 1 + share * (min(x.shape[1:3]) / 2 - 1)

    def same_square(size):
        square = tf.floor(tf.range(size, dtype=tf.float32) / side[:, 0, :, 0])
        return square[:, :, tf.newaxis] == square[:, tf.newaxis, :]

    return _resampled(x, *map(same_square, x.shape[1:3]))


def _zooming_out(x, share, draws, seed):
    scale = (1 - 0.8 * share)[:, 0]  # (batch, 1, 1)

    def averaged(size, offset):
        """Weights `(batch, new, old)`: a new pixel averages old pixels."""
        start = offset[:, 0] * (1 - scale) * size
        edges = (tf.range(size + 1, dtype=tf.float32) - start) / scale
        edges = edges[:, 0, :, tf.newaxis]
        pixel = tf.range(size, dtype=tf.float32)
        inside = tf.minimum(edges[:, 1:], pixel + 1) - tf.maximum(
            edges[:, :-1], pixel
        )
        return tf.maximum(inside, 0.0) * scale

    rows = averaged(x.shape[1], draws[0])
    columns = averaged(x.shape[2], draws[1])
    return tf.einsum("bij,bjkc,blk->bilc", rows, x, columns)


def _waves(x, share, draws, seed):
    height, width = x.shape[1:3]
    rows = tf.range(height, dtype=tf.float32) / height
    cycles, phase = 1 + 7 * draws[0][:, 0, 0], draws[1][:, 0, 0]
    shift = tf.sin(2 * math.pi * (cycles * rows + phase))
    shift = tf.cast(tf.round(share[:, 0, 0] * width / 4 * shift), tf.int32)
    columns = (tf.range(width) + shift[..., tf.newaxis]) % width
    return tf.gather(x, columns, axis=2, batch_dims=2)


def _mixing(x, share, draws, seed):
    order = tf.argsort(draws[0][:, 0, 0, 0])
    other = tf.scatter_nd(
        order[:, tf.newaxis],
        tf.gather(x, tf.roll(order, 1, axis=0)),
        tf.shape(x),
    )
    return x + share / 2 * (other - x)


def _blur(x, share, draws, seed):
    deviation = share[:, 0] * min(x.shape[1:3]) * BLUR_SHARE

    def weights(size):
        position = tf.range(size, dtype=tf.float32)
        distance = position[:, tf.newaxis] - position
        scaled = tf.math.divide_no_nan(distance[tf.newaxis], deviation)
        return tf.exp(-0.5 * tf.square(scaled))

    return _resampled(x, *map(weights, x.shape[1:3]))


def _noise(x, share, draws, seed):
    normal = tf.random.stateless_normal(tf.shape(x), seed + 1, alg="philox")
    return x + share * NOISE_LEVEL * normal


def _resampled(x, rows, columns):
    """Weighted means over rows and columns, with weights that sum to 1."""

    def normalized(weights):
        weights = tf.cast(weights, tf.float32)
        return weights / tf.reduce_sum(weights, axis=-1, keepdims=True)

    rows, columns = normalized(rows), normalized(columns)
    return tf.einsum("bij,bjkc,blk->bilc", rows, x, columns)


def _coordinates(x):
    """Centres of the pixels from 0 to 1, `(1, height, 1, 1)` and width."""
    height, width = x.shape[1:3]
    rows = (tf.range(height, dtype=tf.float32) + 0.5) / height
    columns = (tf.range(width, dtype=tf.float32) + 0.5) / width
    return rows[tf.newaxis, :, tf.newaxis, tf.newaxis], columns[:, tf.newaxis]


KINDS = {
    "occlusion": _occlusion,
    "stripes": _stripes,
    "contrast": _contrast,
    "brightness": _brightness,
    "pixelation": _pixelation,
    "zooming_out": _zooming_out,
    "waves": _waves,
    "mixing": _mixing,
    "blur": _blur,
    "noise": _noise,
}
