"""Gaussian embeddings: a mean and a variance for every input."""

import keras
import numpy as np
import tensorflow as tf

from embeddings_tf.ops import gaussian
from embeddings_tf.ops import positive_weight
from embeddings_tf.ops.arguments import LARGEST_NUMBER
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import positive_number
from embeddings_tf.ops.arguments import require_floating
from embeddings_tf.ops.arguments import truth
from embeddings_tf.ops.tensors import real_floats
from embeddings_tf.ops.tensors import single_precision


@keras.saving.register_keras_serializable(package="embeddings_tf")
class GaussianEmbedding(keras.layers.Layer):
    """Maps features to a Gaussian with diagonal covariance.

    Use it as the last layer of an encoder whose objective reads uncertainty
    (`StochasticPrototypes`). The output is one packed tensor, because a Keras
    loss reads one tensor: the mean, then the variance.
    `embeddings_tf.layers.as_distribution` turns it into a TFP distribution.

    A loss that compares points, such as `TripletLoss`, refuses this output:
    variances would count as coordinates.

    Formula:

    ```
    [m, r] = W x + b            mean = m
    variance = softplus(r) + minimum_variance
    ```

    With `projection=False` the features are `m` and `r` already, from a
    network whose last layer has `2 * dim` outputs; the layer has no weights.

    Args:
        dim: Number of dimensions of the embedding, at least 1.
        minimum_variance: Floor under the variance, 1e-37 to 1e18. Trained
            variances of clean inputs approach zero; the floor keeps their
            logarithm and inverse finite.
        initial_variance: Variance the layer starts from on a zero input
            (sets the bias), at most 1e18. None: zero bias, 0.69. The naive
            sampler of `StochasticPrototypes` with few samples often stays at
            chance level from 0.69; 0.05 works.
        kernel_initializer: As in `keras.layers.Dense`.
        projection: Whether the layer has weights `W` and `b`. False: the input
            is `m` and `r`, to which a constant is added if `initial_variance`
            is given.

    Input shape: `(batch, features)`; `(batch, 2 * dim)` without projection.
    Output shape: `(batch, 2 * dim)`, float32 also under mixed precision and
    with a half-precision `dtype`, which would round small variances to 0.

    Raises:
        ValueError: If `dim` is not a positive integer, or a variance is not
            in its range, or `initial_variance <= minimum_variance`, or the
            inputs are complex, or they are not `2 * dim` without projection.

    Reference:
        - [Scott, Ridgeway & Mozer, 2019](https://arxiv.org/abs/1909.11702),
          Eq. 1 and the text on the softplus output.

    Example:

    >>> layer = embeddings_tf.layers.GaussianEmbedding(2)
    >>> packed = layer(np.ones((5, 16), "float32"))
    >>> packed.shape
    TensorShape([5, 4])
    """

    # Read by `models.has_gaussian_output`.
    gaussian = True

    def __init__(
        self,
        dim: int,
        *,
        minimum_variance: float = 1e-8,
        initial_variance: float | None = None,
        kernel_initializer="glorot_uniform",
        projection: bool = True,
        dtype="float32",
        **kwargs,
    ):
        super().__init__(dtype=dtype, **kwargs)
        require_floating(self.compute_dtype)
        minimum_variance = positive_number(
            "minimum_variance", minimum_variance, LARGEST_NUMBER
        )
        if initial_variance is not None:
            initial_variance = positive_number(
                "initial_variance", initial_variance, LARGEST_NUMBER
            )
            if initial_variance <= minimum_variance:
                raise ValueError(
                    "`initial_variance` must be None or larger than "
                    f"`minimum_variance` ({minimum_variance}); received "
                    f"{initial_variance}."
                )
        self.projection = truth("projection", projection)
        self.dim = positive_integer("dim", dim)
        self.minimum_variance = minimum_variance
        self.initial_variance = initial_variance
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.input_spec = keras.layers.InputSpec(min_ndim=2)

    def build(self, input_shape):
        if not self.projection:
            if input_shape[-1] != 2 * self.dim:
                raise ValueError(
                    f"Without projection, GaussianEmbedding({self.dim}) reads "
                    f"{2 * self.dim} features, means and raw variances; "
                    f"received shape {tuple(input_shape)}. Give the layer "
                    f"before it {2 * self.dim} outputs."
                )
            return
        self.kernel = self.add_weight(
            name="kernel",
            shape=(input_shape[-1], 2 * self.dim),
            initializer=self.kernel_initializer,
        )
        self.bias = self.add_weight(
            name="bias", shape=(2 * self.dim,), initializer=self._initial_bias
        )

    def _initial_bias(self, shape, dtype=None):
        bias = np.zeros(shape, "float32")
        if self.initial_variance is not None:
            above_floor = self.initial_variance - self.minimum_variance
            bias[self.dim :] = positive_weight.inverse("softplus", above_floor)
        return keras.ops.convert_to_tensor(bias, dtype=dtype)

    def call(self, inputs):
        inputs = real_floats("Inputs", inputs, self.compute_dtype)
        if self.projection:
            inputs = tf.matmul(inputs, self.kernel) + self.bias
        inputs = single_precision(inputs)
        if not self.projection and self.initial_variance is not None:
            inputs += self._initial_bias((2 * self.dim,), inputs.dtype)
        mean, raw = tf.split(inputs, 2, axis=-1)
        return gaussian.mark(
            gaussian.pack(mean, tf.nn.softplus(raw) + self.minimum_variance)
        )

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], 2 * self.dim)

    def compute_output_spec(self, inputs):
        shape = self.compute_output_shape(inputs.shape)
        is_double = self.compute_dtype == "float64"
        return keras.KerasTensor(shape, "float64" if is_double else "float32")

    def get_config(self):
        return {
            **super().get_config(),
            "dim": self.dim,
            "minimum_variance": self.minimum_variance,
            "initial_variance": self.initial_variance,
            "kernel_initializer": keras.initializers.serialize(
                self.kernel_initializer
            ),
            "projection": self.projection,
        }
