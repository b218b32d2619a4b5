"""Dropout of whole dimensions of an embedding."""

import keras

from embeddings_tf.ops.arguments import random_seed
from embeddings_tf.ops.arguments import share
from embeddings_tf.ops.labelled_batch import real_numbers


@keras.saving.register_keras_serializable(package="embeddings_tf")
class DimensionDropout(keras.layers.Layer):
    """Leaves some dimensions out of a training batch, in all of its rows.

    Use it as an encoder's last layer with a loss that chooses dimensions, as
    `losses.FStatisticLoss`. Such a loss trains the dimensions that tell
    classes apart best; those that never do have no gradient and stay as
    initialised, a mixture of everything. Where any dimension may be missing
    from a batch, others have to do its work, so that all get some. Without
    `training` it does nothing.

    Formula, with one draw for each dimension `k` and batch:

    ```
    y_ik = x_ik b_k / (1 - rate),    b_k = 0 with probability rate, else 1
    ```

    Under `tf.distribute` the batch is the global batch: all replicas leave
    the same dimensions out, if they started from the same seed. XLA draws
    others than TensorFlow does from the same seed. A loss sees
    a dimension that is left out as one in which all points coincide;
    `FStatisticLoss` chooses those last.

    Args:
        rate: Probability that a dimension is left out, in [0, 1).
        seed: An integer, or None for one that `keras.utils.set_random_seed`
            governs.
        dtype: float32 also under mixed precision, since it ends an encoder.

    Call arguments:
        inputs: Embeddings `(batch, dim)`.
        training: Whether to leave dimensions out.

    Output shape: that of the input.

    Raises:
        ValueError: If `rate` is not in [0, 1), or if the encoder is trained in
            pieces (`EmbeddingModel(piece_size=...)`), each with a draw of its
            own.

    Reference:
        - [Srivastava et al., 2014](https://jmlr.org/papers/v15/srivastava14a.html),
          dropout; that all rows share a draw is ours.

    Example:

    >>> layer = embeddings_tf.layers.DimensionDropout(0.5, seed=1)
    >>> y = layer(np.ones((3, 8), "float32"), training=True).numpy()
    >>> bool((y == y[0]).all()), set(y[0].tolist())
    (True, {0.0, 2.0})
    """

    def __init__(self, rate: float, *, seed=None, dtype="float32", **kwargs):
        super().__init__(dtype=dtype, **kwargs)
        self.rate = share("rate", rate)
        self.seed = seed = None if seed is None else random_seed("seed", seed)
        # By the name `seed_generator`, `prepare_for_replicas` would make each
        # replica leave out dimensions of its own.
        self.shared_generator = keras.random.SeedGenerator(seed)
        self.input_spec = keras.layers.InputSpec(ndim=2)

    def call(self, inputs, training=False):
        inputs = real_numbers("Embeddings", inputs)
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
