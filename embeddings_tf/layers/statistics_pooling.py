"""Mean and standard deviation over time."""

import keras
import tensorflow as tf

from embeddings_tf.ops.arguments import require_floating
from embeddings_tf.ops.tensors import real_floats


@keras.saving.register_keras_serializable(package="embeddings_tf")
class StatisticsPooling(keras.layers.Layer):
    """Mean and standard deviation over time, without padding.

    Use it in a speech encoder, between the layers of frames and the layers
    of the utterance. It ignores frames that the mask excludes, so padding
    does not change the statistics of an utterance. It has no weights.

    Formula, per channel, over the `n` frames `x_t` that the mask keeps:

    ```
    mean = sum_t x_t / n
    standard deviation = sqrt(sum_t (x_t - mean)^2 / n)
    ```

    The gradient of the standard deviation is at most `1 / sqrt(n)`. In a
    constant channel, value and gradient are 0 up to rounding. A sequence
    without frames has mean, standard deviation and gradient 0. All are finite
    for frames up to 1e38.

    Args:
        dtype: Dtype of the computation and of the output. Half precision is
            too coarse for sums over many frames.

    Call arguments:
        inputs: `(batch, frames, channels)`.
        mask: None, or booleans `(batch, frames)`, False for padding. From
            lengths: `tf.sequence_mask(lengths, frames)`. The layer also uses
            a mask that Keras attached to the input (`keras.layers.Masking`).

    Input shape: `(batch, frames, channels)`.
    Output shape: `(batch, 2 * channels)`: means, then standard deviations,
    in float32 also under mixed precision.

    Raises:
        ValueError: If the input has not three axes or is complex, or the mask
            has another shape than `(batch, frames)` or another type (another
            shape in a graph that does not know it:
            `tf.errors.InvalidArgumentError`).

    Reference:
        - [Snyder et al., 2018](https://doi.org/10.1109/ICASSP.2018.8461375),
          x-vectors; [Monteiro et al., 2020](https://arxiv.org/abs/2002.09469),
          Table 3. The code of Monteiro et al. divides by `n - 1`, which is
          undefined for one frame, and adds uniform noise below 1e-6 to the
          frames.

    Example:

    >>> frames = np.array([[[1.0], [3.0], [9.0]]], "float32")
    >>> layer = embeddings_tf.layers.StatisticsPooling()
    >>> layer(frames, mask=np.array([[True, True, False]])).numpy()
    array([[2., 1.]], dtype=float32)
    """

    def __init__(self, *, dtype="float32", **kwargs):
        super().__init__(dtype=dtype, **kwargs)
        require_floating(self.compute_dtype)
        self.supports_masking = True
        self.input_spec = keras.layers.InputSpec(ndim=3)

    def call(self, inputs, mask=None):
        inputs = real_floats("Frames", inputs, self.compute_dtype)
        if mask is None:
            mask = tf.ones(tf.shape(inputs)[:2], tf.bool)
        mask = tf.convert_to_tensor(mask)
        if not (mask.dtype.is_bool or mask.dtype.is_integer):
            raise ValueError(
                "`mask` must be booleans, True for frames to use; received "
                f"the type {mask.dtype.name}."
            )
        mask = tf.cast(mask, tf.bool)
        if not mask.shape.is_compatible_with(inputs.shape[:2]):
            raise ValueError(
                "`mask` must contain one boolean for each frame, shape "
                f"(batch, frames), here {tuple(inputs.shape[:2])}; received "
                f"the shape {tuple(mask.shape)}. From lengths: "
                "tf.sequence_mask(lengths, frames)."
            )
        # A stack needs equal shapes: in a graph that does not know them, an
        # axis of one would be broadcast.
        every_frame = tf.ones(tf.shape(inputs)[:2], tf.bool)
        mask = tf.reduce_all(tf.stack([mask, every_frame]), axis=0)
        kept = mask[:, :, tf.newaxis]
        count = tf.reduce_sum(tf.cast(kept, inputs.dtype), axis=1)
        count = tf.maximum(count, 1)
        # Multiplying by 0 would keep NaN.
        frames = tf.where(kept, inputs, 0)
        total = tf.reduce_sum(frames, axis=1)
        # Shares do not overflow, but are rounded one by one.
        of_shares = tf.reduce_sum(frames / count[:, tf.newaxis], axis=1)
        is_finite = tf.abs(total) <= total.dtype.max
        mean = tf.where(is_finite, total / count, of_shares)
        deviation = tf.where(kept, frames - mean[:, tf.newaxis], 0)
        # After division by the largest deviation, no square overflows, and
        # the square root stays away from 0, where its gradient is infinite.
        unit = tf.stop_gradient(tf.reduce_max(tf.abs(deviation), axis=1))
        unit = tf.maximum(unit, 0)  # minus infinity without frames
        varies = unit > 0
        relative = deviation / tf.where(varies, unit, 1)[:, tf.newaxis]
        variance = tf.reduce_sum(tf.square(relative), axis=1) / count
        standard_deviation = unit * tf.sqrt(tf.where(varies, variance, 1))
        return tf.concat([mean, standard_deviation], axis=-1)

    def compute_mask(self, inputs, mask=None):
        return None  # the output has no frames

    def compute_output_shape(self, input_shape):
        num_channels = input_shape[-1]
        width = None if num_channels is None else 2 * num_channels
        return (input_shape[0], width)
