"""Images moved a little and mirrored."""

import tensorflow as tf

from embeddings_tf.datasets.seed_pair import seed_pair
from embeddings_tf.ops.arguments import positive_integer


def crop_and_flip(images, seed, padding: int = 4) -> tf.Tensor:
    """Moves each image by a few pixels and mirrors every other one.

    Use it to train on small photographs, such as CIFAR-10, with
    `batches(..., preprocess=...)`, in any `tf.data` map, or eagerly; not on
    what has another meaning when mirrored, such as digits.

    Each image gets a border of `padding` black pixels; a crop of the old
    size is taken from a random place, any of `(2 * padding + 1)^2`; and with
    probability 1/2 it is mirrored, left to right.

    Args:
        images: Tensor or array of any numeric dtype and of shape
            `(batch, height, width, channels)`; height and width have to be
            known when a graph is traced, the batch size need not be.
        seed: Integers of shape `(2,)`. The result is a pure function of the
            images and the seed.
        padding: Pixels on each side, at least 1.

    Returns:
        Tensor with the shape and the dtype of `images`.

    Raises:
        ValueError: If `images` are not of rank 4 or of unknown size, or
            `seed` or `padding` is not of the kind above.

    Reference:

    - [He et al., 2016](https://arxiv.org/abs/1512.03385), Section 4.2

    Example:

    >>> images = np.ones((5, 32, 32, 3), "uint8")
    >>> embeddings_tf.datasets.crop_and_flip(images, seed=(1, 2)).shape
    TensorShape([5, 32, 32, 3])
    """
    images = tf.convert_to_tensor(images)
    padding = positive_integer("padding", padding)
    if images.shape.rank != 4 or not all(images.shape[1:3]):
        raise ValueError(
            "crop_and_flip expects images of shape (batch, height, width, "
            f"channels), got shape {images.shape}; use images[tf.newaxis] for "
            "one image, and tf.ensure_shape where the size is not known."
        )
    batch = tf.shape(images)[0]
    height, width = images.shape[1:3]
    uniform = tf.random.stateless_uniform(
        (batch, 3), seed=seed_pair(seed), alg="philox"
    )
    corner = tf.cast(uniform[:, :2] * (2 * padding + 1), tf.int32)
    # The product of a number below 1 can still round up.
    corner = tf.minimum(corner, 2 * padding)
    rows = corner[:, :1] + tf.range(height)
    across = tf.range(width)
    across = tf.where(uniform[:, 2:] < 0.5, width - 1 - across, across)
    columns = corner[:, 1:] + across
    border = [padding, padding]
    images = tf.pad(images, [[0, 0], border, border, [0, 0]])
    images = tf.gather(images, rows, axis=1, batch_dims=1)
    images = tf.gather(images, columns, axis=2, batch_dims=1)
    return tf.ensure_shape(images, (None, height, width, images.shape[3]))
