"""Degrades each image of a batch in a random way."""

import tensorflow as tf

from embeddings_tf.datasets.checked_images import checked_images
from embeddings_tf.datasets.degrade import KINDS
from embeddings_tf.datasets.degrade import degrade
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import one_of
from embeddings_tf.ops.arguments import sequence
from embeddings_tf.ops.seed_pair import seed_pair

# Blur and noise are left out, so that they test the unseen case.
TRAINED_KINDS = tuple(k for k in KINDS if k not in ("blur", "noise"))


def degrade_randomly(
    images,
    seed,
    *,
    kinds: tuple[str, ...] = (  # TRAINED_KINDS, as --help can print it
        "occlusion",
        "stripes",
        "contrast",
        "brightness",
        "pixelation",
        "zooming_out",
        "waves",
        "mixing",
    ),
    probability: float = 0.75,
) -> tf.Tensor:
    """Degrades each image in a random way, by a random strength.

    Use it as the `preprocess` of `batches` to train an uncertainty
    (`layers.UncertaintyHead`), or an encoder, on images of varied quality.
    An uncertainty that saw only one kind of damage can be wrong for another
    kind. Blur and noise are left out by default, so that you can test on
    damage that training did not contain.

    Each image is degraded with the given probability. It then gets one of
    `kinds` and a strength from 0 to 1, both uniform; see `degrade`.

    Args:
        images: As in `degrade`.
        seed: Integers of shape `(2,)`. The same seed gives the same images;
            `batches` draws one seed per step.
        kinds: Kinds of `degrade`.
        probability: Probability that an image is degraded, in `[0, 1]`.

    Returns:
        Tensor with the shape and the dtype of `images`.

    Raises:
        ValueError: If an argument is not as described.

    Reference:

    - [Kirchhof et al., 2023](https://arxiv.org/abs/2307.03810), which tests
      uncertainties on images that are degraded more and more

    Example:

    >>> images = tf.fill((4, 32, 32, 3), 200.0)
    >>> embeddings_tf.datasets.degrade_randomly(images, (0, 1)).shape
    TensorShape([4, 32, 32, 3])
    """
    images = checked_images(images)
    names = [one_of("kinds", k, (*KINDS,)) for k in sequence("kinds", kinds)]
    if not names:
        raise ValueError("`kinds` must name at least one kind of damage.")
    probability = number_at_least("probability", probability, 0, 1)
    draw, *seeds = tf.unstack(
        tf.random.stateless_uniform(
            (1 + len(names), 2),
            seed_pair(seed),
            minval=None,
            maxval=None,
            dtype=tf.int32,
            alg="philox",
        )
    )
    uniform = tf.random.stateless_uniform(
        (3, tf.shape(images)[0]), draw, alg="philox"
    )
    number = tf.cast(uniform[0] * len(names), tf.int32)
    number = tf.minimum(number, len(names) - 1)
    is_degraded = uniform[1] < probability
    strength = tf.where(is_degraded, uniform[2], 0.0)
    parts = [tf.where(number == k)[:, 0] for k in range(len(names))]
    degraded = [
        degrade(
            tf.gather(images, rows), kind, tf.gather(strength, rows), own_seed
        )
        for kind, rows, own_seed in zip(names, parts, seeds, strict=True)
    ]
    rows, degraded = tf.concat(parts, 0), tf.concat(degraded, 0)
    result = tf.gather(degraded, tf.argsort(rows))
    return tf.ensure_shape(result, images.shape)
