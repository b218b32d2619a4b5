"""Subtracts the mean over a sliding window from features."""

import tensorflow as tf

from embeddings_tf.datasets.speech import checks
from embeddings_tf.ops.arguments import positive_integer


def subtract_sliding_mean(
    features, length=None, *, window: int = 300
) -> tf.Tensor:
    """Subtracts the mean over a sliding window from features.

    Use it after `mfcc` and before you drop frames without speech. It removes
    the constant contribution of a microphone or a telephone line. The window is
    centred, and shifted inside at the ends of an utterance:

        first = clip(t - window // 2, 0, max(frames - window, 0))
        out_t = in_t - mean(in_first, ..., in_(min(first + window, frames) - 1))

    The variance does not change.

    Args:
        features: Numbers of shape `(frames, dim)` or `(batch, frames, dim)`.
        length: Numbers of frames without padding, integers of shape
            `(batch,)`; by default all.
        window: Frames of the window; 300 are 3 seconds.

    Returns:
        `float32` of the shape of `features`, 0 for padding.

    Raises:
        ValueError: If arguments are not as described. In eager mode also if
            features contain NaN or infinity; in a graph, this raises a
            `tf.errors.InvalidArgumentError` when it runs.

    Reference:

    - [Snyder et al., 2018](https://doi.org/10.1109/ICASSP.2018.8461375)

    Example:

    >>> features = tf.constant([[1.0], [2.0], [6.0]])
    >>> embeddings_tf.datasets.speech.subtract_sliding_mean(features).numpy()
    array([[-2.],
           [-1.],
           [ 3.]], dtype=float32)
    """
    features = checks.float_tensor(
        "features", features, (2, 3), "(frames, dim) or (batch, frames, dim)"
    )
    window = positive_integer("window", window)
    batch = features[tf.newaxis] if features.shape.rank == 2 else features
    length = checks.lengths_of(batch, length, 0, "frames")[:, tf.newaxis]
    num_frames = tf.shape(batch)[1]
    frame = tf.range(num_frames)
    is_valid = (frame < length)[..., tf.newaxis]
    checks.require_finite("features", batch, is_valid)
    # A sum over a window is a difference of two cumulative sums.
    total = tf.cumsum(
        tf.cast(tf.where(is_valid, batch, 0.0), tf.float64), axis=1
    )
    total = tf.pad(total, [[0, 0], [1, 0], [0, 0]])
    first = tf.minimum(
        tf.maximum(frame - window // 2, 0), tf.maximum(length - window, 0)
    )
    end = tf.minimum(first + window, length)
    mean = tf.math.divide_no_nan(
        tf.gather(total, end, batch_dims=1)
        - tf.gather(total, first, batch_dims=1),
        tf.cast(end - first, tf.float64)[..., tf.newaxis],
    )
    result = tf.where(is_valid, batch - tf.cast(mean, tf.float32), 0.0)
    result = tf.ensure_shape(result, batch.shape)
    return result[0] if features.shape.rank == 2 else result
