"""Random shifts and mirroring of small images."""

import tensorflow as tf

from embeddings_tf.datasets.checked_images import checked_images
from embeddings_tf.ops.arguments import integer_at_least
from embeddings_tf.ops.seed_pair import seed_pair

# Far wider than images. A wider margin may not fit in memory.
_MOST_PADDING = 4096


def shift_and_mirror(images, seed, padding: int = 4) -> tf.Tensor:
    """Shifts images by a few pixels and mirrors half of them.

    Use it as the `preprocess` of `batches` to train on small photographs such
    as CIFAR-10 and mini-ImageNet. Each image gets a margin of `padding` black
    pixels, and a random part of the original size is cut out. The image thus
    moves by up to `padding` pixels in each direction, uniformly. It is then
    mirrored left to right with probability 1/2.

    Args:
        images: Images of shape `(batch, height, width, channels)`.
        seed: Integers of shape `(2,)`. The same seed gives the same images;
            `batches` draws one seed per step.
        padding: Width of the margin in pixels, 0 to 4096.

    Returns:
        Images of the same shape and dtype.

    Raises:
        ValueError: If `images` have another rank or are not real numbers, or
            `seed` or `padding` is not as described.

    Reference:
        - [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469), Section 4;
          with the padding and probability of the authors' code.

    Example:

    >>> images = tf.ones((2, 32, 32, 3))
    >>> embeddings_tf.datasets.shift_and_mirror(images, seed=[0, 1]).shape
    TensorShape([2, 32, 32, 3])
    """
    images = checked_images(images, known_size=False)
    padding = integer_at_least("padding", padding, 0)
    if padding > _MOST_PADDING:
        raise ValueError(
            f"`padding` must be at most {_MOST_PADDING} pixels; received "
            f"{padding}. Images move by up to this width."
        )
    batch, height, width, _ = tf.unstack(tf.shape(images))
    # Like tf.random.split, which depends on the dtype of the seed.
    shift_seed, mirror_seed = tf.unstack(
        tf.random.stateless_uniform(
            (2, 2), seed_pair(seed), None, None, tf.int32, alg="philox"
        )
    )
    first = tf.random.stateless_uniform(
        (2, batch, 1), shift_seed, 0, 2 * padding + 1, tf.int32, alg="philox"
    )
    is_mirrored = (
        tf.random.stateless_uniform((batch, 1), mirror_seed, alg="philox") < 0.5
    )
    rows = first[0] + tf.range(height)
    columns = first[1] + tf.range(width)
    columns = tf.where(is_mirrored, tf.reverse(columns, [1]), columns)
    margin = [[0, 0], [padding, padding], [padding, padding], [0, 0]]
    shifted = tf.gather(tf.pad(images, margin), rows, axis=1, batch_dims=1)
    # Column indices for every row of an image.
    found = tf.gather(
        tf.transpose(shifted, [0, 2, 1, 3]), columns, axis=1, batch_dims=1
    )
    return tf.ensure_shape(tf.transpose(found, [0, 2, 1, 3]), images.shape)
