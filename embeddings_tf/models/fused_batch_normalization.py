"""Batch normalisation in one kernel."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="embeddings_tf")
class FusedBatchNormalization(keras.layers.BatchNormalization):
    """`keras.layers.BatchNormalization` that trains faster on a CPU.

    Use it for images, `(batch, height, width, channels)`. In training on one
    replica, one kernel each computes outputs with statistics, and gradients.
    Keras reads the batch many times instead: a step of the Omniglot encoder
    takes half the time with this layer. Weights and results are equal up to
    rounding. With another axis or rank, a mask, or without scale or centre,
    the layer is Keras's own.
    """

    def call(self, inputs, training=None, mask=None):
        if not self._can_fuse(inputs, training, mask):
            return super().call(inputs, training=training, mask=mask)
        x = tf.cast(inputs, tf.float32)
        nothing = tf.zeros((0,))
        outputs, mean, variance, *_ = tf.raw_ops.FusedBatchNormV3(
            x=x,
            scale=self.gamma,
            offset=self.beta,
            mean=nothing,
            variance=nothing,
            epsilon=self.epsilon,
            is_training=True,
        )
        # The kernel returns the variance with Bessel's correction.
        count = tf.cast(tf.size(x) / tf.shape(x)[-1], tf.float32)
        variance *= (count - 1) / count
        for moving, value in (
            (self.moving_mean, mean),
            (self.moving_variance, variance),
        ):
            moving.assign(
                moving * self.momentum + value * (1.0 - self.momentum)
            )
        return tf.cast(outputs, self.compute_dtype)

    def _can_fuse(self, inputs, training, mask) -> bool:
        """Whether the kernel computes the same as the layer of Keras."""
        return (
            bool(training and self.trainable)
            and not self.synchronized
            and mask is None
            and self.scale
            and self.center
            and len(inputs.shape) == 4
            and self.axis in (-1, 3)
        )
