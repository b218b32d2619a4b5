"""Crops and repeats utterances to one length."""

import tensorflow as tf

from embeddings_tf.datasets.speech import checks
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.seed_pair import seed_pair


def repeat_or_crop(features, num_frames, seed=None, length=None) -> tf.Tensor:
    """Brings utterances to one length: crops long ones, repeats short ones.

    Use it to make batches of utterances of different lengths. A longer
    utterance is cropped: at a random place with a seed, otherwise in the
    middle. A shorter utterance is repeated from its first frame on.

    Args:
        features: Numbers of shape `(frames, dim)` or `(batch, frames, dim)`.
        num_frames: Frames of the result: an integer, or an integer scalar
            tensor.
        seed: Integers of shape `(2,)`. The result is a pure function of
            features and seed.
        length: Numbers of frames without padding, integers of shape `()` or
            `(batch,)`; by default all.

    Returns:
        `float32` of shape `(num_frames, dim)` or `(batch, num_frames, dim)`.

    Raises:
        ValueError: If arguments are not as described. In eager mode also if an
            utterance has no frame; in a graph, this raises a
            `tf.errors.InvalidArgumentError` when it runs.

    Example:

    >>> features = tf.constant([[1.0], [2.0], [3.0]])
    >>> embeddings_tf.datasets.speech.repeat_or_crop(features, 5)[:, 0].numpy()
    array([1., 2., 3., 1., 2.], dtype=float32)
    """
    features = checks.float_tensor(
        "features", features, (2, 3), "(frames, dim) or (batch, frames, dim)"
    )
    if not tf.is_tensor(num_frames):
        num_frames = positive_integer("num_frames", num_frames)
    elif num_frames.shape.rank != 0 or not num_frames.dtype.is_integer:
        raise ValueError(
            "num_frames must be an integer scalar; received shape "
            f"{num_frames.shape} and dtype {num_frames.dtype.name}."
        )
    num_frames = tf.cast(num_frames, tf.int32)
    batch = features[tf.newaxis] if features.shape.rank == 2 else features
    length = checks.lengths_of(batch, length, 1, "frames")
    most = tf.maximum(length - num_frames, 0)
    if seed is None:
        first = most // 2
    else:
        uniform = tf.random.stateless_uniform(
            tf.shape(most), seed_pair(seed), alg="philox"
        )
        first = tf.cast(uniform * tf.cast(most + 1, tf.float32), tf.int32)
        # Rounding can lift the product of a number below 1.
        first = tf.minimum(first, most)
    position = first[:, tf.newaxis] + tf.range(num_frames)
    position = tf.math.floormod(position, tf.maximum(length, 1)[:, tf.newaxis])
    result = tf.gather(batch, position, batch_dims=1)
    return result[0] if features.shape.rank == 2 else result
