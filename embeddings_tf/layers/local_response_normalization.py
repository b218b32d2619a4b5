"""Local response normalisation across channels."""

import math

import keras
import tensorflow as tf

from embeddings_tf.ops.arguments import LARGEST_NUMBER
from embeddings_tf.ops.arguments import SMALLEST_NUMBER
from embeddings_tf.ops.arguments import number_at_least
from embeddings_tf.ops.arguments import positive_integer
from embeddings_tf.ops.arguments import positive_number
from embeddings_tf.ops.tensors import real_floats

_MANY_CHANNELS = 1 << 20


@keras.saving.register_keras_serializable(package="embeddings_tf")
class LocalResponseNormalization(keras.layers.Layer):
    """Divides each activation by the energy of neighbouring channels.

    Use it to rebuild networks from before batch normalisation; Keras does not
    have this layer. It has no weights. The defaults are TensorFlow's.

    Formula, per position, for channel `c`:

    ```
    y_c = x_c / (bias + alpha * sum_{|k - c| <= depth_radius} x_k^2)^beta
    ```

    `alpha` is not divided by the number of channels in the window. The sum is
    in float32: it overflows for activations above about 1e19, and `y` is 0.

    Args:
        depth_radius: Channels on each side in the sum, at least 1.
        bias: Prevents 0 / 0 for a black image, 1e-37 to 1e18. `bias**beta` is
            at least 1e-37, too.
        alpha: Weight of the sum, 0 to 1e18.
        beta: Positive exponent, at most 1e18.

    Input shape: `(batch, height, width, channels)`.
    Output shape: The same.

    Raises:
        ValueError: If an argument is out of its range, or the input has not
            four axes.

    Reference:
        - [Krizhevsky, Sutskever & Hinton,
          2012](https://papers.nips.cc/paper/4824), Section 3.3.

    Example:

    >>> layer = embeddings_tf.layers.LocalResponseNormalization()
    >>> x = np.full((1, 1, 1, 3), 2.0, "float32")
    >>> layer(x).numpy().ravel().round(4)  # 2 / sqrt(1 + 3 * 4)
    array([0.5547, 0.5547, 0.5547], dtype=float32)
    """

    def __init__(
        self,
        depth_radius: int = 5,
        bias: float = 1.0,
        alpha: float = 1.0,
        beta: float = 0.5,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.depth_radius = positive_integer("depth_radius", depth_radius)
        self.bias = positive_number("bias", bias, LARGEST_NUMBER)
        self.alpha = number_at_least("alpha", alpha, 0, LARGEST_NUMBER)
        self.beta = positive_number("beta", beta, LARGEST_NUMBER)
        if self.beta * math.log(self.bias) < math.log(SMALLEST_NUMBER):
            raise ValueError(
                f"`bias**beta` must be at least {SMALLEST_NUMBER:g}, because a "
                "black image is divided by it; received "
                f"bias={self.bias} and beta={self.beta}. Use a larger bias."
            )
        self.input_spec = keras.layers.InputSpec(ndim=4)

    def call(self, inputs):
        inputs = real_floats("Inputs", inputs, self.compute_dtype)
        # The window is at most all channels. Near 2^31 the kernel overflows.
        num_channels = inputs.shape[-1]
        radius = min(self.depth_radius, num_channels or _MANY_CHANNELS)
        # TensorFlow has no bfloat16 or float64 kernel on CPU.
        normalized = tf.nn.local_response_normalization(
            tf.cast(inputs, tf.float32),
            depth_radius=radius,
            bias=self.bias,
            alpha=self.alpha,
            beta=self.beta,
        )
        return tf.cast(normalized, inputs.dtype)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {
            **super().get_config(),
            "depth_radius": self.depth_radius,
            "bias": self.bias,
            "alpha": self.alpha,
            "beta": self.beta,
        }
