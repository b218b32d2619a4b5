"""Dropout of whole dimensions of an embedding."""

import keras

from embeddings_tf.ops.arguments import optional_seed
from embeddings_tf.ops.arguments import require_floating
from embeddings_tf.ops.arguments import share
from embeddings_tf.ops.tensors import real_floats


@keras.saving.register_keras_serializable(package="embeddings_tf")
class DimensionDropout(keras.layers.Layer):
    """Sets the same random dimensions to 0 in all rows of a training batch.

    Use it as an encoder's last layer with a loss that chooses dimensions,
    such as `losses.FStatisticLoss`. Such a loss trains the dimensions that
    separate classes best. All other dimensions have no gradient and keep
    their initial weights. Dropout makes other dimensions replace the missing
    ones, so that all dimensions are trained. Without `training` the layer
    returns its input.

    Formula, with one draw for each dimension `k` and batch:

    ```
    y_ik = x_ik b_k / (1 - rate),    b_k = 0 with probability rate, else 1
    ```

    Under `tf.distribute` all replicas drop the same dimensions if they
    started from the same seed. XLA and TensorFlow draw different dimensions
    from the same seed. In a dropped dimension all points coincide;
    `FStatisticLoss` chooses such dimensions last.

    Args:
        rate: Probability that a dimension is dropped, in [0, 1).
        seed: An integer, or None for a seed from
            `keras.utils.set_random_seed`.
        dtype: float32 by default, also under mixed precision, because
            embeddings are float32.

    Call arguments:
        inputs: Embeddings `(batch, dim)`.
        training: Whether to drop dimensions.

    Output shape: The input's.

    Raises:
        ValueError: If `rate` is not in [0, 1), or if the encoder is trained in
            pieces (`EmbeddingModel(piece_size=...)`), because each piece
            would draw its own dimensions.

    Reference:
        - [Srivastava et al., 2014](https://jmlr.org/papers/v15/srivastava14a.html),
          dropout. The shared draw of all rows is our choice.

    Example:

    >>> layer = embeddings_tf.layers.DimensionDropout(0.5, seed=1)
    >>> y = layer(np.ones((3, 8), "float32"), training=True).numpy()
    >>> bool((y == y[0]).all()), set(y[0].tolist())
    (True, {0.0, 2.0})
    """

    def __init__(self, rate: float, *, seed=None, dtype="float32", **kwargs):
        super().__init__(dtype=dtype, **kwargs)
        require_floating(self.compute_dtype)
        self.rate = share("rate", rate)
        self.seed = seed = optional_seed("seed", seed)
        # `prepare_for_replicas` changes attributes named `seed_generator`:
        # each replica would then drop different dimensions.
        self.shared_generator = keras.random.SeedGenerator(seed)
        self.input_spec = keras.layers.InputSpec(ndim=2)

    def call(self, inputs, training=False):
        inputs = real_floats("Embeddings", inputs, self.compute_dtype)
        if not training or self.rate == 0:
            return inputs
        return keras.random.dropout(
            inputs,
            self.rate,
            noise_shape=(1, inputs.shape[-1]),
            seed=self.shared_generator,
        )

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "rate": self.rate, "seed": self.seed}
